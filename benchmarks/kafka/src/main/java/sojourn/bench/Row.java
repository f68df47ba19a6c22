package sojourn.bench;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** The figures of one operation; its text is a JSON object. */
final class Row {
    private final String op;
    private final Map<String, Double> figures = new LinkedHashMap<>();

    Row(String op) {
        this.op = op;
    }

    Row with(String field, double value) {
        figures.put(field, value);
        return this;
    }

    @Override
    public String toString() {
        return figures.entrySet().stream()
            .map(figure -> String.format(Locale.ROOT, ", \"%s\": %.4f", figure.getKey(), figure.getValue()))
            .collect(Collectors.joining("", "{\"op\": \"" + op + "\"", "}"));
    }
}

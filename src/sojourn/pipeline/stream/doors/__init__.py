"""Where events come from and where outcomes go.

sources, sinks        each named by a text such as `file:events/` or `parquet:outcomes/`
sink, owner           Parquet, exactly once, in a folder that belongs to one stream
own_sink              a function of one's own
kafka, kafka_source   Kafka, with Spark's connector or without
lakes                 Delta and Iceberg
"""

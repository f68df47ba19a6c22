// Scala's transformWithState, a value state and a timer for each operation.
import org.apache.spark.sql.{Encoders, SparkSession}
import org.apache.spark.sql.functions.count
import org.apache.spark.sql.streaming._

case class Event(key: String, kind: String, at: java.sql.Timestamp)
case class Told(key: String, openedAt: Long, outcome: String)

class ByHand(withinMs: Long) extends StatefulProcessor[String, Event, Told] {
  @transient private var opened: ValueState[Long] = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
    opened = getHandle.getValueState[Long]("opened", Encoders.scalaLong, TTLConfig.NONE)

  override def handleInputRows(key: String, rows: Iterator[Event], timers: TimerValues): Iterator[Told] = {
    var openedAt = if (opened.exists()) opened.get() else -1L
    rows.toSeq.sortBy(event => (event.at.getTime, event.kind)).iterator.flatMap { event =>
      val at = event.at.getTime
      if (event.kind == "open" && openedAt < 0) {
        openedAt = at
        opened.update(at)
        getHandle.registerTimer(at + withinMs)
        None
      } else if (event.kind == "paid" && openedAt >= 0 && at <= openedAt + withinMs) {
        getHandle.deleteTimer(openedAt + withinMs)
        opened.clear()
        val told = Told(key, openedAt, "completed")
        openedAt = -1L
        Some(told)
      } else None
    }
  }

  override def handleExpiredTimer(key: String, timers: TimerValues, expired: ExpiredTimerInfo): Iterator[Told] =
    if (opened.exists()) {
      val told = Told(key, opened.get(), "expired")
      opened.clear()
      Iterator(told)
    } else Iterator.empty
}

object Main {
  def main(arguments: Array[String]): Unit = {
    val Array(events, checkpoint, lateMs, withinMs, files) = arguments
    val spark = SparkSession.builder().getOrCreate()
    import spark.implicits._
    val told = spark.readStream.schema("key string, kind string, at timestamp").option("maxFilesPerTrigger", files).parquet(events)
      .withWatermark("at", s"$lateMs milliseconds").as[Event].groupByKey(_.key)
      .transformWithState(new ByHand(withinMs.toLong), TimeMode.EventTime(), OutputMode.Append())
      .observe("told", count("*").as("told"))
    val query = told.writeStream.format("noop").option("checkpointLocation", checkpoint).trigger(Trigger.AvailableNow()).start()
    query.awaitTermination()
    query.recentProgress.foreach(report => println("REPORT " + report.json.replace("\n", "")))
    spark.stop()
  }
}

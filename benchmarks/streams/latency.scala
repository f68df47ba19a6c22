// From event to outcome: the processor by hand, every 100 ms, into a function that takes the outcomes.
import org.apache.spark.sql.{Dataset, SparkSession}
import org.apache.spark.sql.functions.{col, split, timestamp_millis}
import org.apache.spark.sql.streaming._

object Latency {
  def main(arguments: Array[String]): Unit = {
    val Array(port, checkpoint, lateMs, withinMs, everyMs, seconds) = arguments
    val spark = SparkSession.builder().getOrCreate()
    import spark.implicits._
    val parts = split(col("value"), ",")
    val events = spark.readStream.format("socket").option("host", "127.0.0.1").option("port", port).load()
      .select(parts(0).as("key"), parts(1).as("kind"), timestamp_millis(parts(2).cast("long")).as("at"))
    val told = events.withWatermark("at", s"$lateMs milliseconds").as[Event].groupByKey(_.key)
      .transformWithState(new ByHand(withinMs.toLong), TimeMode.EventTime(), OutputMode.Append())
    val take = (rows: Dataset[Told], batch: Long) => {
      val keys = rows.collect()
      val now = System.currentTimeMillis()
      keys.foreach(told => println(s"TOLD ${told.key} $now"))
    }
    val query = told.writeStream.foreachBatch(take).option("checkpointLocation", checkpoint)
      .trigger(Trigger.ProcessingTime(everyMs.toLong)).start()
    query.awaitTermination(seconds.toLong * 1000)
    query.stop()
    spark.stop()
  }
}

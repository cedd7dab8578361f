/*
 * The example jobs over text: word count, a map-only job, and one whose maps fail at first. Uses
 * mappers and reducers of Hadoop's library where it has them. Submits nothing.
 */
package io.heddle.integration.jobs;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.map.TokenCounterMapper;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.reduce.IntSumReducer;

/** Makes jobs that are ready to submit. */
public final class TextJobs {
  /** Pause of each map before it reads, in ms: simulates the work of a larger input. */
  public static final String MAP_PAUSE_MS = "heddle.jobs.map.pause.ms";

  /** Pause of each reduce before it reduces, in ms. */
  public static final String REDUCE_PAUSE_MS = "heddle.jobs.reduce.pause.ms";

  private TextJobs() {}

  /** Counts words: a map per block of the input, a combiner, and this many reducers. */
  public static Job wordCount(Configuration conf, String name, Path input, Path output, int reduces)
      throws IOException {
    Job job = job(conf, name, input, output, reduces);
    job.setMapperClass(PacedTokenMapper.class);
    job.setCombinerClass(IntSumReducer.class);
    job.setReducerClass(PacedSumReducer.class);
    job.setOutputKeyClass(Text.class);
    job.setOutputValueClass(IntWritable.class);
    return job;
  }

  /** Writes every line in upper case with maps only, which write the output themselves. */
  public static Job upperCase(Configuration conf, String name, Path input, Path output)
      throws IOException {
    Job job = job(conf, name, input, output, 0);
    job.setMapperClass(UpperCaseMapper.class);
    job.setOutputKeyClass(Text.class);
    job.setOutputValueClass(NullWritable.class);
    return job;
  }

  /** Counts words; the first attempt of every second map fails. */
  public static Job flakyWordCount(
      Configuration conf, String name, Path input, Path output, int reduces) throws IOException {
    Job job = wordCount(conf, name, input, output, reduces);
    job.setMapperClass(FlakyTokenMapper.class);
    return job;
  }

  private static Job job(Configuration conf, String name, Path input, Path output, int reduces)
      throws IOException {
    Job job = Job.getInstance(conf, name);
    job.setJarByClass(TextJobs.class);
    FileInputFormat.addInputPath(job, input);
    FileOutputFormat.setOutputPath(job, output);
    job.setNumReduceTasks(reduces);
    return job;
  }

  private static void pause(Configuration conf, String key) throws InterruptedException {
    Thread.sleep(conf.getLong(key, 0));
  }

  /** The library's word mapper, after a pause and behind its gate. */
  public static class PacedTokenMapper extends TokenCounterMapper {
    @Override
    protected void setup(Context context) throws IOException, InterruptedException {
      pause(context.getConfiguration(), MAP_PAUSE_MS);
      Gate.pass(context);
    }
  }

  /** The library's sum, after a pause and behind its gate. */
  public static class PacedSumReducer extends IntSumReducer<Text> {
    @Override
    protected void setup(Context context) throws IOException, InterruptedException {
      pause(context.getConfiguration(), REDUCE_PAUSE_MS);
      Gate.pass(context);
    }
  }

  /** A word mapper that fails in the first attempt of every task with an even number. */
  public static class FlakyTokenMapper extends PacedTokenMapper {
    @Override
    protected void cleanup(Context context) throws IOException {
      boolean firstAttempt = context.getTaskAttemptID().getId() == 0;
      if (firstAttempt && context.getTaskAttemptID().getTaskID().getId() % 2 == 0) {
        throw new IOException("the first attempts of even tasks fail on purpose");
      }
    }
  }

  /** Writes its input in upper case, after a pause. */
  public static class UpperCaseMapper extends Mapper<LongWritable, Text, Text, NullWritable> {
    @Override
    protected void setup(Context context) throws IOException, InterruptedException {
      pause(context.getConfiguration(), MAP_PAUSE_MS);
      Gate.pass(context);
    }

    @Override
    protected void map(LongWritable offset, Text line, Context context)
        throws IOException, InterruptedException {
      String upper = line.toString().toUpperCase(java.util.Locale.ROOT);
      context.write(new Text(upper), NullWritable.get());
    }
  }
}

package dev.holdfast.benchmarks.jmh;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.Call;
import dev.holdfast.EventId;
import dev.holdfast.Resume;
import dev.holdfast.StreamReader;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** What the core does for a call, for a notification, and for a client that comes back. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class CoreBenchmark {
    private static final OutboundMessage NOTIFICATION = new OutboundMessage(
            EventKind.NOTIFICATION,
            null,
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"hello\"}}"
                    .getBytes(UTF_8));

    /** A call from its scanned message to its stream's end: start, append, read, confirm. */
    @Benchmark
    public int call(Conversation conversation) {
        StreamReader reader = called(conversation);
        int events = Conversation.read(reader);
        reader.close(StreamReader.Close.IN_ORDER);
        return events;
    }

    /** A call whose connection breaks after its first read, and the client's return with its cursor. */
    @Benchmark
    public int callAndResume(Conversation conversation) {
        StreamReader reader = called(conversation);
        String start = reader.position();
        reader.close(StreamReader.Close.BROKEN);
        StreamReader again = resumed(conversation, start);
        int events = Conversation.read(again);
        again.close(StreamReader.Close.IN_ORDER);
        return events;
    }

    /** A client that comes back to a stream, and reads the ten events that it has missed; its connection breaks again. */
    @Benchmark
    public int resume(Missed missed, Conversation conversation) {
        StreamReader reader = resumed(conversation, missed.cursor());
        int events = Conversation.read(reader);
        reader.close(StreamReader.Close.BROKEN);
        return events;
    }

    /** Ten notifications in the log of a session's listening stream, and the cursor before them. */
    @State(Scope.Thread)
    public static class Missed {
        private static final int EVENTS = 10;

        private String cursor = "";

        /** Once for each iteration, as the session. */
        @Setup(Level.Iteration)
        public void send(Conversation conversation) {
            Resume listening =
                    conversation.session().listen().toCompletableFuture().join();
            StreamReader reader = ((Resume.Resumed) listening).reader();
            reader.wakeWith(Conversation.nobody());
            cursor = reader.position();
            for (int i = 0; i < EVENTS; i++) {
                conversation.listening().send(NOTIFICATION);
            }
            reader.close(StreamReader.Close.BROKEN);
            StreamReader again = resumed(conversation, cursor);
            if (Conversation.read(again) != EVENTS) {
                throw new IllegalStateException("the stream has not " + EVENTS + " events");
            }
            again.close(StreamReader.Close.BROKEN);
        }

        /** As the client names it. */
        String cursor() {
            return cursor;
        }
    }

    /** A notification into the log of a session to which nobody listens: append, and drop of what is too old. */
    @Benchmark
    public Object append(Conversation conversation) {
        return conversation.listening().send(NOTIFICATION);
    }

    private static StreamReader resumed(Conversation conversation, String cursor) {
        Resume resume = conversation
                .session()
                .resume(EventId.parse(cursor).orElseThrow())
                .toCompletableFuture()
                .join();
        if (!(resume instanceof Resume.Resumed resumed)) {
            throw new IllegalStateException("not resumed: " + resume);
        }
        resumed.reader().wakeWith(Conversation.nobody());
        return resumed.reader();
    }

    private static StreamReader called(Conversation conversation) {
        InboundMessage message = conversation.message(Conversation.CALL);
        Call.Outcome outcome = conversation
                .session()
                .call(List.of(message))
                .toCompletableFuture()
                .join();
        if (!(outcome instanceof Call.Accepted accepted)) {
            throw new IllegalStateException("not taken: " + outcome);
        }
        StreamReader reader = accepted.call().reader().orElseThrow();
        reader.wakeWith(Conversation.nobody());
        accepted.call().dispatch();
        return reader;
    }
}

package dev.holdfast.gateway.process;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.holdfast.ByteBudget;
import dev.holdfast.gateway.Wait;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.Pipe;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** What waits for children that do not read. */
@Tag("jdk")
@Timeout(30)
class ChildInputTest {
    private static final int LINE = 1 << 20;
    private static final int OVERHEAD = 64;
    private static final int MANY = 1 << 30;
    private static final Child.Name NAME = new Child.Name("child 1", () -> "0123456789");

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final ByteBudget room = new ByteBudget(Long.MAX_VALUE, 3 * LINE, Duration.ofSeconds(30));
    private final List<String> broken = new CopyOnWriteArrayList<>();

    @AfterEach
    void stop() {
        threads.shutdownNow();
    }

    private Child.Input input(Pipe pipe) {
        return new Child.Input(NAME, Channels.newOutputStream(pipe.sink()), threads, MANY, room, broken::add);
    }

    @Test
    void allTogetherWaitForNoMoreThanThereIsRoomFor() throws Exception {
        Pipe one = Pipe.open();
        Pipe other = Pipe.open();
        Child.Input first = input(one);
        Child.Input second = input(other);
        first.write(new byte[LINE]);
        first.write(new byte[LINE]);
        second.write(new byte[LINE / 2]);
        assertThat(broken).isEmpty();
        second.write(new byte[LINE]);
        second.write(new byte[LINE]);
        assertThat(broken).containsExactly("the server process does not read its input");
        assertThat(room.taken()).isLessThan(3 * LINE);
        close(one);
        close(other);
        Wait.until("all room is given back", () -> room.taken() == 0);
    }

    @Test
    void whoseChildReadsIsNotHitByThoseWhoseDoNot() throws Exception {
        Pipe stuck = Pipe.open();
        Pipe read = Pipe.open();
        Child.Input full = input(stuck);
        for (int i = 0; i < 3; i++) {
            full.write(new byte[LINE - OVERHEAD]);
        }
        assertThat(room.taken()).isEqualTo(3 * LINE);
        Child.Input reading = input(read);
        for (int i = 0; i < 1000; i++) {
            reading.write(new byte[1000]);
            ByteBuffer line = ByteBuffer.allocate(1001);
            while (line.hasRemaining()) {
                assertThat(read.source().read(line)).isPositive();
            }
        }
        reading.write(new byte[LINE]);
        assertThat(broken).isEmpty();
        reading.close();
        close(stuck);
        close(read);
        Wait.until("all room is given back", () -> room.taken() == 0);
    }

    @Test
    void theOnlyMessagesOfManyChildrenFindAsMuchRoomAgain() throws Exception {
        List<Pipe> pipes = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            Pipe pipe = Pipe.open();
            pipes.add(pipe);
            input(pipe).write(new byte[LINE - OVERHEAD]);
        }
        assertThat(broken).isEmpty();
        Pipe last = Pipe.open();
        input(last).write(new byte[LINE - OVERHEAD]);
        assertThat(broken).hasSize(1);
        for (Pipe pipe : pipes) {
            close(pipe);
        }
        close(last);
        Wait.until("all room is given back", () -> room.taken() == 0);
    }

    @Test
    void whereAFaultEndsTheWritingTheChildIsGivenUp() {
        OutputStream faulty = new OutputStream() {
            @Override
            public void write(int b) {
                throw new OutOfMemoryError("thrown by a test");
            }
        };
        Logger logger = (Logger) LoggerFactory.getLogger(Child.class);
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        logger.addAppender(log);
        Child.Input input = new Child.Input(NAME, faulty, threads, MANY, room, broken::add);
        input.write(new byte[1000]);
        Wait.until("it is given up", () -> broken.contains("the server process could not be written to"));
        assertThat(room.taken()).isZero();
        logger.detachAppender(log);
        assertThat(log.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .containsExactly("child 1 (session 01234567): could not be written to");
    }

    private static void close(Pipe pipe) throws IOException {
        pipe.source().close();
    }
}

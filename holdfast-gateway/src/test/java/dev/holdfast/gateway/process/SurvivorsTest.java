package dev.holdfast.gateway.process;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.holdfast.gateway.Wait;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

@Tag("jdk")
@Timeout(60)
class SurvivorsTest {
    private static final Logger LOGGER = (Logger) LoggerFactory.getLogger(ChildRegister.class);

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    private final Unkillable unkillable = new Unkillable();
    private final List<Process> started = new ArrayList<>();

    /** Processes that mind no signal. */
    private static final class Unkillable implements Processes {
        private final List<Signal> signals = new ArrayList<>();

        @Override
        public Process start(ServerCommand command) {
            throw new UnsupportedOperationException();
        }

        @Override
        public synchronized void signal(Collection<Process> children, Signal signal) {
            signals.add(signal);
        }

        @Override
        public Set<Process> running(Collection<Process> children) {
            return Set.copyOf(children);
        }
    }

    @AfterEach
    void end() {
        LOGGER.detachAppender(log);
        clock.shutdownNow();
        started.forEach(Process::destroyForcibly);
    }

    @Test
    void whatDoesNotEndIsToldByItsNumber() throws IOException {
        Process process = Processes.ofThisMachine().start(new ServerCommand(List.of("sleep", "60")));
        started.add(process);
        Wait.until(
                "it leads a group",
                () -> ProcessTable.entry(process.pid())
                        .filter(ProcessTable.Entry::leads)
                        .isPresent());
        new ChildRegister(folder, unkillable).started(process);
        log.start();
        LOGGER.addAppender(log);

        ChildRegister.open(folder, unkillable, clock, Duration.ofMillis(10));

        assertThat(unkillable.signals).containsExactly(Processes.Signal.TERM, Processes.Signal.KILL);
        assertThat(log.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .hasSize(2)
                .last()
                .asString()
                .contains("could not be ended")
                .endsWith(": " + process.pid());
    }
}

package dev.holdfast.rocksdb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Event;
import dev.holdfast.spi.SessionStore.Claim;
import dev.holdfast.spi.SessionStore.Durability;
import dev.holdfast.spi.StreamId;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A process that is killed in the middle of its appends has lost nothing that was acknowledged. */
@Tag("jdk")
class KillTest {
    private static final int SESSIONS = 16;
    private static final int ENOUGH = 3_000;

    @TempDir
    Path temporary;

    @ParameterizedTest
    @EnumSource(names = {"PROCESS_DEATH", "POWER_LOSS"})
    void whatWasAcknowledgedIsThereAfterSigkill(Durability durability) throws Exception {
        Path folder = temporary.resolve("store");
        Process child = ChildJvm.start(Appender.class, folder.toString(), durability.name());
        Map<Integer, Long> acknowledged = new HashMap<>();
        int count = 0;
        try (BufferedReader lines = child.inputReader()) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ", -1);
                if (words.length == 3 && words[2].equals(".")) {
                    acknowledged.merge(Integer.valueOf(words[0]), Long.valueOf(words[1]), Math::max);
                }
                if (++count >= ENOUGH && acknowledged.size() == SESSIONS) {
                    // SIGKILL; what it had printed until then is read on
                    child.destroyForcibly();
                }
            }
        } catch (IOException e) {
            // the pipe ended with the process
        } finally {
            child.destroyForcibly();
        }
        child.waitFor();
        assertThat(count).isGreaterThanOrEqualTo(ENOUGH);
        assertThat(acknowledged).hasSize(SESSIONS);
        try (RocksDbStore store =
                RocksDbStore.builder(folder).survives(durability).open()) {
            for (int session = 0; session < SESSIONS; session++) {
                Claim claim = Sample.await(store.claim(Sample.key(session), 5)).orElseThrow();
                long last = claim.last(StreamId.LISTENING);
                assertThat(last).isGreaterThanOrEqualTo(acknowledged.getOrDefault(session, 0L));
                List<Event> events =
                        Sample.await(store.read(Sample.key(session), StreamId.LISTENING, 0, Integer.MAX_VALUE));
                assertThat(events).hasSize((int) last);
                assertThat(events).allSatisfy(event -> assertThat(event.bytes()).hasSize(300));
            }
        }
    }

    /** Appends to all sessions at once, and says what is acknowledged, until it is killed. */
    static final class Appender {
        private Appender() {}

        public static void main(String[] args) throws Exception {
            PrintStream out = System.out;
            RocksDbStore store = RocksDbStore.builder(Path.of(args[0]))
                    .survives(Durability.valueOf(args[1]))
                    .memory(1 << 20)
                    .open();
            List<Thread> threads = new ArrayList<>();
            for (int session = 0; session < SESSIONS; session++) {
                int which = session;
                Sample.await(Sample.create(store, Sample.key(which)));
                threads.add(new Thread(() -> append(store, which, out)));
            }
            for (Thread thread : threads) {
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }

        private static void append(RocksDbStore store, int session, PrintStream out) {
            try {
                for (long offset = 1; ; offset++) {
                    Sample.await(Sample.append(store, Sample.key(session), offset, 300));
                    out.println(session + " " + offset + " .");
                }
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }
}

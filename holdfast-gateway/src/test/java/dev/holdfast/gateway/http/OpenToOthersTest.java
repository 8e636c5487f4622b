package dev.holdfast.gateway.http;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.holdfast.gateway.TestGateway;
import dev.holdfast.gateway.text.OptionFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.LoggerFactory;

/** What others on the machine can read or change, and should not, is named in the log with its mode. */
@Tag("jdk")
class OpenToOthersTest {
    private final Logger logger = (Logger) LoggerFactory.getLogger(OpenToOthers.class);
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @BeforeEach
    void listen() {
        log.start();
        logger.addAppender(log);
    }

    @AfterEach
    void stopListening() {
        logger.detachAppender(log);
    }

    private List<String> warnings() {
        return log.list.stream()
                .filter(line -> line.getLevel() == Level.WARN)
                .map(ILoggingEvent::getFormattedMessage)
                .toList();
    }

    private static Path mode(Path path, String permissions) throws IOException {
        return Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(permissions));
    }

    private Path tokens(String permissions) throws IOException {
        return mode(Files.writeString(folder.resolve("tokens"), "alice 0123456789abcdef\n"), permissions);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "rw-r--r-- | 0644: everybody on this machine can read it; take that right away (chmod o-r)",
                "rw--w---- | 0620: its group can change it; take that right away (chmod go-w)",
                "rw-----w- | 0602: everybody on this machine can change it; take that right away (chmod go-w)",
                "rw-rw-rw- | 0666: everybody on this machine can change it, everybody on this machine can read it;"
                        + " take that right away (chmod go-w,o-r)",
            })
    void aTokenFileThatIsOpenIsNamedWithItsMode(String permissions, String fault) throws IOException {
        Path file = tokens(permissions);

        TokenFile.open(new OptionFile("--auth-token-file", file), System::nanoTime);

        assertThat(warnings()).containsExactly(file + " has mode " + fault);
    }

    @ParameterizedTest
    @CsvSource({"rw-------", "r--------", "rw-r-----"})
    void aTokenFileThatIsItsOwnersIsNot(String permissions) throws IOException {
        TokenFile.open(new OptionFile("--auth-token-file", tokens(permissions)), System::nanoTime);

        assertThat(warnings()).isEmpty();
    }

    @Test
    void aTokenFileThatIsOpenedLaterIsNamedWhenItIsReadAgain() throws IOException {
        AtomicLong clock = new AtomicLong();
        TokenFile tokens = TokenFile.open(new OptionFile("--auth-token-file", tokens("rw-------")), clock::get);
        Path file = mode(Files.writeString(folder.resolve("tokens"), "bob fedcba9876543210\n"), "rw-rw----");
        clock.addAndGet(TimeUnit.SECONDS.toNanos(2));

        TokenFileTest.ask(tokens, "Bearer fedcba9876543210");

        assertThat(warnings())
                .containsExactly(file + " has mode 0660: its group can change it; take that right away (chmod go-w)");
    }

    @Test
    void aFileOfAnotherUserIsNamed() throws IOException {
        Path file = tokens("rw-------");
        int user = (Integer) Files.getAttribute(file, "unix:uid");
        int stranger = 4711;
        OpenToOthers.complainOfOwner(file, user);
        assertThat(warnings()).isEmpty();
        if (user == 0) {
            Files.setAttribute(file, "unix:uid", stranger);
            TokenFile.open(new OptionFile("--auth-token-file", file), System::nanoTime);
        } else {
            OpenToOthers.complainOfOwner(file, stranger);
        }

        assertThat(warnings()).singleElement().asString().startsWith(file + " belongs to the user ");
    }

    @Test
    void aFolderInWhichOthersCanReplaceTheTokenFileIsNamed() throws IOException {
        Path file = tokens("rw-------");
        mode(folder, "rwxrwxrwx");

        TokenFile.open(new OptionFile("--auth-token-file", file), System::nanoTime);

        assertThat(warnings())
                .containsExactly(
                        folder.toRealPath() + ", the folder of " + file
                                + ", has mode 0777: everybody on this machine can put something else in its place (chmod go-w)");
    }

    @Test
    void aStoreFolderThatIsOpenIsNamed() throws IOException {
        Path store = mode(Files.createDirectory(folder.resolve("store")), "rwxrwxrwx");

        start(store);

        assertThat(warnings())
                .containsExactly(store + " has mode 0777: everybody on this machine can change it,"
                        + " everybody on this machine can read it; take that right away (chmod go-w,o-r)");
    }

    @Test
    void aStoreFolderThatTheGatewayMakesIsNot() {
        start(folder.resolve("store"));

        assertThat(warnings()).isEmpty();
    }

    private static void start(Path store) {
        new TestGateway("--store", "rocksdb:" + store).close();
    }
}

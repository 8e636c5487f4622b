package dev.holdfast.gateway.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.gateway.text.OptionFile;
import dev.holdfast.servlet.Authenticator.Answer;
import dev.holdfast.servlet.Authenticator.Known;
import dev.holdfast.servlet.Authenticator.Stranger;
import dev.holdfast.servlet.Authenticator.WrongToken;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

@Tag("jdk")
class TokenFileTest {
    private static final String ONE = "0123456789abcdef";
    private static final String TWO = "fedcba9876543210";

    private final Logger logger = (Logger) LoggerFactory.getLogger(TokenFile.class);
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final AtomicLong clock = new AtomicLong(-5);

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @BeforeEach
    void listen() {
        logger.setLevel(Level.INFO);
        log.start();
        logger.addAppender(log);
    }

    @AfterEach
    void noTokenIsEverLogged() {
        logger.detachAppender(log);
        logger.setLevel(null);
        assertThat(lines()).noneMatch(line -> line.contains(ONE) || line.contains(TWO) || line.contains("secret"));
    }

    private List<String> lines() {
        return log.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }

    private Path file(String text) throws IOException {
        Path file = folder.resolve("tokens");
        Files.writeString(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        return file;
    }

    private TokenFile opened(String text) throws IOException {
        return TokenFile.open(new OptionFile("--auth-token-file", file(text)), clock::get);
    }

    static Answer ask(TokenFile tokens, String... credentials) {
        HttpServletRequest request = (HttpServletRequest) Proxy.newProxyInstance(
                TokenFileTest.class.getClassLoader(),
                new Class<?>[] {HttpServletRequest.class},
                (proxy, method, arguments) -> Collections.enumeration(List.of(credentials)));
        return tokens.authenticate(request);
    }

    @Test
    void aCallerIsWhomItsTokenNames() throws IOException {
        TokenFile tokens = opened("alice " + ONE + "\nbob " + TWO);

        assertThat(ask(tokens, "Bearer " + ONE)).isEqualTo(new Known("alice"));
        assertThat(ask(tokens, "bearer   " + TWO + " ")).isEqualTo(new Known("bob"));
        assertThat(ask(tokens)).isEqualTo(new Stranger());
        for (String wrong : List.of("Bearer " + ONE + "x", "Bearer", "Bearer ", ONE, "Basic " + ONE, "")) {
            assertThat(ask(tokens, wrong)).as(wrong).isEqualTo(new WrongToken());
        }
        assertThat(ask(tokens, "Bearer " + ONE, "Bearer " + TWO)).isEqualTo(new WrongToken());
        assertThat(lines()).isEmpty();
    }

    @Test
    void aChangeIsSeenWithinASecondAndThePrincipalStays() throws IOException {
        TokenFile tokens = opened("alice " + ONE);
        file("alice " + TWO + "\n");

        clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(999));
        assertThat(ask(tokens, "Bearer " + ONE)).isEqualTo(new Known("alice"));
        clock.addAndGet(TimeUnit.MILLISECONDS.toNanos(1));

        assertThat(ask(tokens, "Bearer " + ONE)).isEqualTo(new WrongToken());
        assertThat(ask(tokens, "Bearer " + TWO)).isEqualTo(new Known("alice"));
        assertThat(lines()).singleElement().asString().endsWith("was read again: 1 tokens");
    }

    @Test
    void aBadChangeKeepsTheTokensAndIsOneLineInTheLog() throws IOException {
        TokenFile tokens = opened("alice " + ONE);
        file("alice " + ONE + "\nbob secret\n");

        for (int i = 0; i < 5; i++) {
            clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
            assertThat(ask(tokens, "Bearer " + ONE)).isEqualTo(new Known("alice"));
        }
        assertThat(lines())
                .singleElement()
                .asString()
                .endsWith("tokens, line 2: the token must have at least 16 characters; the tokens stay as they were");

        Files.delete(folder.resolve("tokens"));
        clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
        assertThat(ask(tokens, "Bearer " + ONE)).isEqualTo(new Known("alice"));
        assertThat(lines()).hasSize(2).last().asString().contains("there is no such file");

        file("bob " + TWO + "\n");
        clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
        assertThat(ask(tokens, "Bearer " + ONE)).isEqualTo(new WrongToken());
        assertThat(ask(tokens, "Bearer " + TWO)).isEqualTo(new Known("bob"));
    }

    @Test
    void aFileThatIsHalfWrittenIsNotTaken() throws IOException {
        TokenFile tokens = opened("alice " + ONE);
        file("alice " + ONE + "\nbob " + TWO);
        clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
        assertThat(ask(tokens, "Bearer " + TWO)).isEqualTo(new WrongToken());
        file("alice " + ONE + "\nbob " + TWO + "99\n");
        clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
        assertThat(ask(tokens, "Bearer " + TWO)).isEqualTo(new WrongToken());
        assertThat(ask(tokens, "Bearer " + TWO + "99")).isEqualTo(new Known("bob"));
    }

    @Test
    void aFileThatStaysFaultyIsToldEveryTenSecondsWithWhatToDo() throws IOException {
        TokenFile tokens = opened("alice " + ONE);
        file("alice " + ONE + "\nbob " + TWO);
        for (int i = 0; i < 21; i++) {
            clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
            assertThat(ask(tokens, "Bearer " + TWO)).isEqualTo(new WrongToken());
        }
        String fault = "tokens: the last line has no end; end it with a newline; the tokens stay as they were";
        String more = fault + ", and before that another 9 of this kind";
        assertThat(lines())
                .satisfiesExactly(
                        first -> assertThat(first).endsWith(fault),
                        second -> assertThat(second).endsWith(more),
                        third -> assertThat(third).endsWith(more));
    }

    @Test
    void aFileThatIsEmptiedLocksEverybodyOut() throws IOException {
        TokenFile tokens = opened("alice " + ONE);
        file("");
        clock.addAndGet(TimeUnit.SECONDS.toNanos(1));
        assertThat(ask(tokens, "Bearer " + ONE)).isEqualTo(new WrongToken());
        assertThat(lines()).first().asString().endsWith("is empty: nobody gets in");
    }

    @Test
    void aByteOrderMarkIsNoPartOfAPrincipal() throws IOException {
        TokenFile tokens = opened("\uFEFFalice " + ONE);
        assertThat(ask(tokens, "Bearer " + ONE)).isEqualTo(new Known("alice"));
    }

    @Test
    void aFileThatIsNoTextIsRefused() throws IOException {
        Path file = folder.resolve("tokens");
        Files.write(file, new byte[] {(byte) 0xff, (byte) 0xfe});

        assertThatThrownBy(() -> TokenFile.open(new OptionFile("--auth-token-file", file), clock::get))
                .isInstanceOf(GatewayException.class)
                .hasMessageEndingWith("tokens: is not UTF-8; save it as UTF-8");
    }
}

package dev.holdfast.gateway.connect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.holdfast.client.Requests;
import dev.holdfast.gateway.text.OptionFile;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

class HeaderFileTest {
    private static final URI SERVER = URI.create("http://127.0.0.1/mcp");

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private static HttpRequest sent(Requests requests) {
        HttpRequest.Builder request = HttpRequest.newBuilder(SERVER);
        return requests.customizer()
                .customize(request, "POST", SERVER, Optional.empty(), "")
                .toCompletableFuture()
                .join()
                .build();
    }

    private static boolean sentAgain(Requests requests, HttpRequest refused, int times) {
        HttpHeaders none = HttpHeaders.of(Map.of(), (name, value) -> true);
        return requests.authorization()
                .sendAgain(refused, 401, none, times, "")
                .toCompletableFuture()
                .join();
    }

    @Test
    void aNameThatIsGivenTwiceGoesTwiceAndThatOfTheFileTakesItsPlace() throws IOException {
        Path file = Files.writeString(folder.resolve("headers"), "X-B: file\n");
        List<String> given = List.of("X-A: 1", "x-a: 2", "X-B: line");

        HttpHeaders headers = sent(HeaderFile.of(given, Optional.of(new OptionFile("--header-file", file)))
                        .requests())
                .headers();

        assertThat(headers.allValues("X-A")).containsExactly("1", "2");
        assertThat(headers.allValues("X-B")).containsExactly("file");
    }

    @Test
    void aByteOrderMarkIsNoPartOfAName() throws IOException {
        Path file = Files.writeString(folder.resolve("headers"), "\uFEFFX-A: 1\n");

        HttpHeaders headers = sent(HeaderFile.of(List.of(), Optional.of(new OptionFile("--header-file", file)))
                        .requests())
                .headers();

        assertThat(headers.allValues("X-A")).containsExactly("1");
    }

    @Test
    void aValueThatWouldArriveAsAnotherIsRefusedAndNotRepeated() {
        assertThatThrownBy(() -> HeaderFile.of(List.of("X-A: caf\u00e9"), Optional.empty()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("X-A")
                .hasMessageNotContaining("caf");
    }

    @Test
    void eachRequestThatWasSentWithTheOldTokenIsSentAgainWithTheNewOne() throws IOException {
        Path file = Files.writeString(folder.resolve("headers"), "Authorization: Bearer old\n");
        Requests requests = HeaderFile.of(List.of(), Optional.of(new OptionFile("--header-file", file)))
                .requests();
        HttpRequest one = sent(requests);
        HttpRequest other = sent(requests);
        assertThat(sentAgain(requests, one, 0)).isFalse();

        Files.writeString(file, "Authorization: Bearer new\n");

        assertThat(sentAgain(requests, one, 0)).isTrue();
        assertThat(sentAgain(requests, other, 0)).isTrue();
        HttpRequest renewed = sent(requests);
        assertThat(renewed.headers().firstValue("Authorization")).hasValue("Bearer new");
        assertThat(sentAgain(requests, renewed, 0)).isFalse();
        assertThat(sentAgain(requests, other, 1)).isFalse();
    }

    @Test
    void aFaultyChangeKeepsTheHeadersAndIsToldOnceInTenSeconds() throws IOException {
        Logger logger = (Logger) LoggerFactory.getLogger(HeaderFile.class);
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        logger.addAppender(log);
        Path file = Files.writeString(folder.resolve("headers"), "Authorization: Bearer old\n");
        Requests requests = HeaderFile.of(List.of(), Optional.of(new OptionFile("--header-file", file)))
                .requests();
        Files.writeString(file, "Authorization Bearer secret\n");

        assertThat(sentAgain(requests, sent(requests), 0)).isFalse();
        assertThat(sentAgain(requests, sent(requests), 0)).isFalse();

        logger.detachAppender(log);
        assertThat(sent(requests).headers().firstValue("Authorization")).hasValue("Bearer old");
        assertThat(log.list)
                .singleElement()
                .asString()
                .endsWith("headers, line 1: a header is written as 'Name: value'; the headers stay as they were")
                .startsWith("[WARN] --header-file ");
    }
}

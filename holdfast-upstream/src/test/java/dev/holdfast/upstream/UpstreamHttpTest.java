package dev.holdfast.upstream;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.holdfast.client.wire.HttpSender;
import dev.holdfast.client.wire.MarkedBody;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodySubscribers;
import java.net.http.HttpResponse.ResponseInfo;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** What a sender promises, of each HTTP client. */
@Tag("jdk")
@ParameterizedClass
@MethodSource("clients")
@Timeout(30)
class UpstreamHttpTest {
    private final UpstreamHttp http;
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    private final List<Integer> ports = new CopyOnWriteArrayList<>();
    private final AtomicReference<ResponseInfo> head = new AtomicReference<>();
    private final AtomicReference<String> body = new AtomicReference<>();
    private HttpServer server;
    private UpstreamHttp.Client client;
    private HttpSender sender;

    UpstreamHttpTest(UpstreamHttp http) {
        this.http = http;
    }

    static Stream<Named<UpstreamHttp>> clients() {
        return Stream.of(
                Named.of("JDK", UpstreamHttp.jdk()),
                Named.of("the application's", UpstreamHttp.jdk(HttpClient.newHttpClient())),
                Named.of("Jetty", UpstreamHttp.jetty()));
    }

    private interface Answer {
        void to(HttpExchange asked) throws IOException;
    }

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
        client = http.start(at("/"), clock);
        sender = client;
    }

    @AfterEach
    void stop() {
        client.close();
        server.stop(0);
        clock.shutdownNow();
    }

    private URI at(String path) {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + path);
    }

    private void serve(String path, Answer answer) {
        server.createContext(path, asked -> {
            ports.add(asked.getRemoteAddress().getPort());
            answer.to(asked);
            asked.close();
        });
    }

    private static <T> T now(CompletableFuture<T> stage) {
        return stage.orTimeout(20, TimeUnit.SECONDS).join();
    }

    private BodyHandler<Void> taking() {
        return response -> {
            head.set(response);
            StringBuilder whole = new StringBuilder();
            return BodySubscribers.fromSubscriber(new Flow.Subscriber<>() {
                @Override
                public void onSubscribe(Flow.Subscription subscription) {
                    subscription.request(Long.MAX_VALUE);
                }

                @Override
                public void onNext(List<ByteBuffer> parts) {
                    parts.forEach(part -> whole.append(UTF_8.decode(part)));
                }

                @Override
                public void onError(Throwable failure) {
                    body.set(failure.toString());
                }

                @Override
                public void onComplete() {
                    body.set(whole.toString());
                }
            });
        };
    }

    private ResponseInfo head() {
        return Objects.requireNonNull(head.get());
    }

    private CompletableFuture<?> post(URI uri, String text) {
        return sender.send(
                HttpRequest.newBuilder(uri)
                        .POST(new MarkedBody(text.getBytes(UTF_8)))
                        .build(),
                taking());
    }

    @Test
    void theAnswerIsWhatTheServerSaysOfTheRequest() {
        serve("/", asked -> {
            byte[] answer = (asked.getRequestMethod()
                            + asked.getRequestHeaders().getFirst("X-Of")
                            + asked.getRequestURI())
                    .concat(new String(asked.getRequestBody().readAllBytes(), UTF_8))
                    .getBytes(UTF_8);
            asked.getResponseHeaders().add("X-Answer", "one");
            asked.getResponseHeaders().add("x-answer", "two");
            asked.sendResponseHeaders(200, 0);
            // in many parts: the memory of one is used again for the next
            for (byte part : answer) {
                asked.getResponseBody().write(part);
                asked.getResponseBody().flush();
            }
        });

        now(sender.send(
                HttpRequest.newBuilder(at("/path?query=1"))
                        .header("X-Of", "client")
                        .POST(new MarkedBody("{}".getBytes(UTF_8)))
                        .build(),
                taking()));

        assertThat(body).hasValue("POSTclient/path?query=1{}");
        assertThat(head().headers().allValues("X-ANSWER")).containsExactly("one", "two");
    }

    @Test
    void whatTheServerAsksOfTheClientItselfIsLeftToOthers() {
        serve("/", asked -> {
            asked.getResponseHeaders().add("Location", "/elsewhere");
            asked.getResponseHeaders().add("WWW-Authenticate", "Basic realm=here");
            asked.getResponseHeaders().add("Set-Cookie", "a=b");
            boolean known = asked.getRequestHeaders().containsKey("Cookie")
                    || asked.getRequestHeaders().containsKey("Accept-Encoding");
            asked.sendResponseHeaders(
                    known ? 500 : Integer.parseInt(asked.getRequestURI().getQuery()), -1);
        });

        for (int status : List.of(307, 302, 401, 407, 202, 204)) {
            now(post(at("/?" + status), "{}"));

            assertThat(head().statusCode()).isEqualTo(status);
            assertThat(body).hasValue("");
        }
    }

    @Test
    void aConnectionCarriesOneRequestAfterTheOther() {
        serve("/", asked -> asked.sendResponseHeaders(202, -1));

        for (int i = 0; i < 3; i++) {
            CompletableFuture<?> sent = post(at("/"), "{}");
            now(sent);
            // too late: its connection is not its own any more
            sent.cancel(true);
        }

        assertThat(ports).hasSize(3).containsOnly(ports.get(0));
    }

    @Test
    void aBodyIsKnownNotToBeSentWhereNobodyListens() {
        URI nobody = at("/");
        server.stop(0);
        MarkedBody unsent = new MarkedBody("{}".getBytes(UTF_8));

        assertThatThrownBy(() -> now(
                        sender.send(HttpRequest.newBuilder(nobody).POST(unsent).build(), taking())))
                .hasCauseInstanceOf(ConnectException.class);

        assertThat(unsent.sent()).isFalse();
    }

    @Test
    void aRequestThatIsCancelledBreaksItsConnection() {
        CompletableFuture<Integer> broken = new CompletableFuture<>();
        CompletableFuture<Void> there = new CompletableFuture<>();
        serve("/", asked -> {
            asked.sendResponseHeaders(200, 0);
            there.complete(null);
            try {
                while (true) {
                    asked.getResponseBody().write("data: x\n\n".getBytes(UTF_8));
                    asked.getResponseBody().flush();
                }
            } catch (IOException gone) {
                broken.complete(1);
            }
        });
        CompletableFuture<?> sent = post(at("/"), "{}");
        now(there);

        sent.cancel(true);

        assertThat(now(broken)).isOne();
    }
}

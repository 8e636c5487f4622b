package dev.holdfast.client.wire;

import static dev.holdfast.client.Eventually.now;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.ByteBudget;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.ResponseInfo;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The body of an answer, as the sender brings it. */
@Tag("jdk")
class ExchangeBodyTest {
    private record Head(int statusCode, HttpHeaders headers) implements ResponseInfo {
        @Override
        public HttpClient.Version version() {
            return HttpClient.Version.HTTP_1_1;
        }
    }

    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    private final CompletableFuture<Void> taken = new CompletableFuture<>();
    private final List<BodySubscriber<?>> bodies = new ArrayList<>();
    private boolean cancelled;
    /** Some senders tell at once what came of it. */
    private Runnable whenCancelled = () -> {};

    private HttpExchange exchange(String type, int messageBytes) {
        HttpSender sender = new HttpSender() {
            @Override
            public <T> CompletableFuture<?> send(HttpRequest request, BodyHandler<T> answer) {
                BodySubscriber<T> body = answer.apply(
                        new Head(200, HttpHeaders.of(Map.of("Content-Type", List.of(type)), (name, value) -> true)));
                bodies.add(body);
                CompletableFuture<T> sent = new CompletableFuture<>();
                body.getBody().whenComplete((whole, failure) -> {
                    if (failure == null) {
                        sent.complete(whole);
                    } else {
                        sent.completeExceptionally(failure);
                    }
                });
                return sent;
            }
        };
        HttpResources resources = new HttpResources(
                sender, Runnable::run, Runnable::run, clock, HttpResources.Redirects.NONE, ByteBudget.withoutLimit());
        HttpRequest request =
                HttpRequest.newBuilder(URI.create("http://127.0.0.1/")).build();
        HttpExchange exchange =
                new HttpExchange(resources, request, messageBytes, new HeartbeatWatch(Duration.ZERO), event -> taken);
        exchange.start();
        body().onSubscribe(new Flow.Subscription() {
            @Override
            public void request(long n) {}

            @Override
            public void cancel() {
                cancelled = true;
                whenCancelled.run();
            }
        });
        return exchange;
    }

    private BodySubscriber<?> body() {
        return bodies.get(0);
    }

    private void bytes(String text) {
        body().onNext(List.of(ByteBuffer.wrap(text.getBytes(UTF_8))));
    }

    @AfterEach
    void stop() {
        clock.shutdownNow();
    }

    /** A stream of which an event has come, which is not taken yet. */
    private HttpExchange stream() {
        HttpExchange exchange = exchange("text/event-stream", 1_000);
        bytes("data: one\n\n");
        return exchange;
    }

    @Test
    void aStreamThatIsBrokenOffIsNotReadAnyMore() {
        HttpExchange exchange = stream();

        exchange.abort("not wanted any more");

        assertThat(cancelled).isTrue();
        assertThat(now(exchange.end())).isInstanceOf(ExchangeEnd.StreamBroken.class);
    }

    /** The next connection carries the same stream, which is taken by one thread at a time. */
    @Test
    void aStreamThatIsInterruptedEndsOnceItsEventIsTaken() {
        HttpExchange exchange = stream();

        exchange.interrupt("the server was silent on another connection");

        assertThat(cancelled).isTrue();
        assertThat(exchange.end()).isNotDone();
        taken.complete(null);
        assertThat(now(exchange.end())).isInstanceOf(ExchangeEnd.StreamBroken.class);
    }

    /** Its connection may carry another exchange by then, which would break. */
    @Test
    void theConnectionOfAStreamThatCameToItsEndIsLeftAlone() {
        HttpExchange exchange = stream();
        body().onComplete();
        assertThat(exchange.end()).isNotDone();

        exchange.abort("not wanted any more");

        assertThat(cancelled).isFalse();
        assertThat(now(exchange.end())).isInstanceOf(ExchangeEnd.StreamBroken.class);
    }

    private static Throwable cause(HttpExchange exchange) {
        return ((ExchangeEnd.StreamBroken) now(exchange.end())).cause();
    }

    @Test
    void aStreamBreaksForTheFirstCause() {
        whenCancelled = () -> body().onError(new CancellationException("not wanted any more"));
        HttpExchange exchange = stream();
        taken.complete(null);

        bytes("data: " + "x".repeat(12_000));

        assertThat(cause(exchange)).isInstanceOf(OversizedEventException.class);
    }

    @Test
    void aStreamBreaksForTheFirstCauseThoughAnEventIsStillToBeTaken() {
        HttpExchange exchange = stream();
        bytes("data: " + "x".repeat(12_000));
        body().onError(new CancellationException("not wanted any more"));
        assertThat(exchange.end()).isNotDone();

        taken.complete(null);

        assertThat(cause(exchange)).isInstanceOf(OversizedEventException.class);
    }

    @Test
    void aWholeBodyThatIsTooLongSaysSoThoughItsSenderTellsOfTheCancellationAtOnce() {
        whenCancelled = () -> body().onError(new CancellationException("not wanted any more"));
        HttpExchange exchange = exchange("application/json", 2);

        bytes("123");

        assertThat(now(exchange.end()))
                .isInstanceOfSatisfying(
                        ExchangeEnd.NoAnswer.class,
                        end -> assertThat(end.cause()).isInstanceOf(OversizedEventException.class));
    }
}

package dev.holdfast.servlet.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Quota;
import dev.holdfast.Refusal;
import dev.holdfast.servlet.io.EdgeClock;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Bodies that do not come in time, by a clock that the test sets. */
@Timeout(30)
class BodyArrivalTest {
    private static final int LIMIT = 1 << 20;
    private static final Duration DEADLINE = Duration.ofSeconds(30);

    private final AtomicLong now = new AtomicLong();
    private final AtomicInteger faults = new AtomicInteger();
    private final ScheduledThreadPoolExecutor scheduler = new ScheduledThreadPoolExecutor(1);
    private final EdgeClock time = new EdgeClock(this::time, scheduler);
    private final Quota room = new Quota(8 * LIMIT, 50, Refusal.BODY_ROOM);
    private final RequestBodies bodies = new RequestBodies(LIMIT, DEADLINE, room, (bytes, tokens) -> bytes, time);
    private final CountDownLatch gate = new CountDownLatch(1);

    @AfterEach
    void stop() {
        gate.countDown();
        time.stop();
        bodies.stop();
        scheduler.shutdownNow();
    }

    private long time() {
        if (faults.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
            throw new StackOverflowError("by the test");
        }
        return now.get();
    }

    /** A body of which nothing comes. */
    private static final class Silent extends ServletInputStream {
        @Override
        public boolean isFinished() {
            return false;
        }

        @Override
        public boolean isReady() {
            return false;
        }

        @Override
        public void setReadListener(ReadListener listener) {}

        @Override
        public int read() {
            throw new IllegalStateException("nothing is ready");
        }

        @Override
        public int read(byte[] bytes, int offset, int count) {
            return read();
        }
    }

    /** A body of which so many bytes have come, or at least seem to: each read takes a millisecond. */
    private final class Ready extends ServletInputStream {
        private long left;

        private Ready(long bytes) {
            this.left = bytes;
        }

        @Override
        public boolean isFinished() {
            return false;
        }

        @Override
        public boolean isReady() {
            return left > 0;
        }

        @Override
        public void setReadListener(ReadListener listener) {}

        @Override
        public int read() {
            return read(new byte[1], 0, 1) < 0 ? -1 : 0;
        }

        @Override
        public int read(byte[] bytes, int offset, int count) {
            now.addAndGet(TimeUnit.MILLISECONDS.toNanos(1));
            int read = (int) Math.min(left, count);
            left -= read;
            return read;
        }
    }

    /** A client whose request is so far read, and what it is answered. */
    private class Client {
        private final List<Refusal> refusals = new CopyOnWriteArrayList<>();
        private final CompletableFuture<String> end = new CompletableFuture<>();
        private final Exchange exchange = new Exchange(
                stub(HttpServletRequest.class, this::ofRequest),
                stub(HttpServletResponse.class, this::ofResponse),
                bodies,
                (refusal, detail) -> refusals.add(refusal));
        private volatile boolean written;

        private @Nullable Object ofRequest(String method) {
            return switch (method) {
                case "isAsyncStarted" -> true;
                case "getProtocol" -> "HTTP/1.1";
                case "getAsyncContext" ->
                    stub(AsyncContext.class, called -> {
                        if (called.equals("complete")) {
                            complete();
                        }
                        return null;
                    });
                default -> null;
            };
        }

        private @Nullable Object ofResponse(String method) {
            if (method.equals("getOutputStream")) {
                write();
                written = true;
                return stub();
            }
            return null;
        }

        void write() {}

        void complete() {
            end.complete(written ? "ended" : "abandoned");
        }
    }

    /** A client that reads no answer. */
    private final class Deaf extends Client {
        @Override
        void write() {
            try {
                gate.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static <T> T stub(Class<T> type, Function<String, @Nullable Object> answers) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, args) -> answers.apply(method.getName())));
    }

    private static ServletOutputStream stub() {
        return new ServletOutputStream() {
            @Override
            public boolean isReady() {
                return true;
            }

            @Override
            public void setWriteListener(WriteListener listener) {}

            @Override
            public void write(int b) {}
        };
    }

    private static void begin(Client client) throws IOException {
        RequestBody body = client.exchange.body();
        body.expect(LIMIT);
        body.grow();
        assertThat(body.readFrom(new ByteArrayInputStream(new byte[100]))).isEqualTo(100);
        BodyArrival.wanted(client.exchange, new Silent()).begin();
    }

    /** Lets a body come that is not announced, as far as it is there. */
    private static void arrive(ServletInputStream in, Client client) throws IOException {
        client.exchange.body().expect(-1);
        BodyArrival arrival = BodyArrival.wanted(client.exchange, in);
        assertThat(arrival.begin()).isTrue();
        arrival.onDataAvailable();
    }

    private static void awaitThat(BooleanSupplier condition) throws InterruptedException {
        for (int i = 0; i < 2_000 && !condition.getAsBoolean(); i++) {
            TimeUnit.MILLISECONDS.sleep(10);
        }
        assertThat(condition.getAsBoolean()).isTrue();
    }

    @Test
    void clientsThatReadNoAnswersKeepNobodyWaiting() throws Exception {
        List<Client> deaf = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            deaf.add(new Deaf());
            begin(deaf.get(i));
        }
        time.start();
        now.addAndGet(DEADLINE.toNanos() + 1);

        awaitThat(() -> room.taken() == 0);
        CompletableFuture<String> other = new CompletableFuture<>();
        time.later(() -> other.complete("run"), 1);
        assertThat(other.get(20, TimeUnit.SECONDS)).isEqualTo("run");

        gate.countDown();
        for (Client each : deaf) {
            assertThat(each.end.get(20, TimeUnit.SECONDS)).isEqualTo("ended");
            assertThat(each.refusals).containsExactly(Refusal.BODY_TIME);
        }
    }

    @Test
    void whereTooManyAnswersWaitARequestEndsWithoutWords() throws Exception {
        List<Client> deaf = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            deaf.add(new Deaf());
            begin(deaf.get(i));
        }
        time.start();
        now.addAndGet(DEADLINE.toNanos() + 1);

        awaitThat(() -> deaf.stream().anyMatch(each -> each.end.getNow("").equals("abandoned")));
        gate.countDown();
        for (Client each : deaf) {
            assertThat(each.end.get(20, TimeUnit.SECONDS)).isIn("ended", "abandoned");
            assertThat(each.refusals).containsExactly(Refusal.BODY_TIME);
        }
        assertThat(room.taken()).isZero();
    }

    @Test
    void aFaultOfOneDoesNotStopTheClockForTheOthers() throws Exception {
        Client broken = new Client() {
            @Override
            void complete() {
                throw new StackOverflowError("by the test");
            }
        };
        Client other = new Client();
        begin(broken);
        begin(other);
        time.start();
        now.addAndGet(DEADLINE.toNanos() + 1);

        assertThat(other.end.get(20, TimeUnit.SECONDS)).isEqualTo("ended");
    }

    @Test
    void aFaultOfTheClockItselfDoesNotStopIt() throws Exception {
        Client late = new Client();
        begin(late);
        faults.set(3);
        time.start();
        awaitThat(() -> faults.get() == 0);
        now.addAndGet(DEADLINE.toNanos() + 1);

        assertThat(late.end.get(20, TimeUnit.SECONDS)).isEqualTo("ended");
    }

    @Test
    void whatHasComeBehindARefusalIsTakenToo() throws Exception {
        Client client = new Client();
        Ready body = new Ready(LIMIT + (1 << 20));

        arrive(body, client);

        assertThat(body.left).isZero();
        assertThat(client.refusals).containsExactly(Refusal.BODY_SIZE);
        assertThat(client.end).isNotDone();
        assertThat(room.taken()).isZero();
    }

    @Test
    void whoeverHasAlwaysMoreToSendIsListenedToForTwoSeconds() throws Exception {
        Client client = new Client();
        Ready endless = new Ready(Long.MAX_VALUE);

        arrive(endless, client);

        assertThat(client.refusals).containsExactly(Refusal.BODY_SIZE);
        assertThat(client.end).isCompletedWithValue("ended");
        assertThat(Duration.ofNanos(now.get())).isBetween(Duration.ofSeconds(2), Duration.ofSeconds(4));
    }
}

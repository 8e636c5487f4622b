package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.servlet.io.BlockingPool;
import dev.holdfast.servlet.sse.SseChannel;
import dev.holdfast.servlet.sse.SseFraming;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A stream breaks while a thread that is not the container's writes it, and that thread ends it: before the container reports the
 * failure, meanwhile, or after. Jetty reports nothing before.
 */
@Timeout(60)
@Tag("edge")
class BrokenStreamTest {
    private enum End {
        BEFORE,
        MEANWHILE,
        AFTER
    }

    /** A servlet with one stream, which another thread writes until it breaks. */
    private static final class Streaming extends HttpServlet {
        private final transient CountDownLatch reporting = new CountDownLatch(1);
        private final transient CountDownLatch reported = new CountDownLatch(1);
        private final transient CountDownLatch ended = new CountDownLatch(1);
        /** A container that goes on to its error page sets the status of the broken response. */
        private final AtomicInteger status = new AtomicInteger();

        private final End end;

        Streaming(End end) {
            this.end = end;
        }

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
            BlockingPool none = new BlockingPool("none", 1);
            SseChannel channel = new SseChannel(
                    request, new Told(response), SseFraming.streamable("2025-11-25", ""), () -> {}, none, none);
            channel.listen(new SseChannel.Listener() {
                @Override
                public void onWritable() {}

                @Override
                public void onBroken() {
                    reporting.countDown();
                    if (end == End.MEANWHILE) {
                        pass(ended);
                    }
                }
            });
            channel.leaveThread();
            request.getAsyncContext().addListener(new Behind());
            new Thread(() -> write(channel)).start();
        }

        private void write(SseChannel channel) {
            try {
                while (true) {
                    channel.write(ByteBuffer.wrap(new byte[] {':', '\n', '\n'}), false);
                    channel.flush();
                }
            } catch (IOException e) {
                if (end != End.BEFORE) {
                    pass(end == End.MEANWHILE ? reporting : reported);
                }
                complete(channel);
                ended.countDown();
            }
        }

        private static void complete(SseChannel channel) {
            try {
                channel.complete();
            } catch (IllegalStateException e) {
                assertThat(e).hasMessageContaining("non-container (application) thread");
            }
        }

        private static void pass(CountDownLatch latch) {
            try {
                latch.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        /** Hears of each report after the channel. */
        private final class Behind implements AsyncListener {
            @Override
            public void onError(AsyncEvent event) {
                reported.countDown();
            }

            @Override
            public void onComplete(AsyncEvent event) {
                reported.countDown();
            }

            @Override
            public void onTimeout(AsyncEvent event) {}

            @Override
            public void onStartAsync(AsyncEvent event) {}
        }

        private final class Told extends HttpServletResponseWrapper {
            Told(HttpServletResponse response) {
                super(response);
            }

            @Override
            public void setStatus(int code) {
                status.set(code);
                super.setStatus(code);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"TOMCAT, BEFORE", "TOMCAT, MEANWHILE", "TOMCAT, AFTER", "JETTY, BEFORE"})
    void noErrorPageIsSent(ContainerKind kind, End end) throws Exception {
        Streaming servlet = new Streaming(end);
        Container container = kind.create(10, Duration.ofSeconds(20));
        container.start(servlet, List.of());
        try {
            RawConnection client = RawConnection.open(container.port()).send(RawSseSession.get());
            assertThat(client.head().status()).isEqualTo(200);
            client.reset();

            assertThat(servlet.reported.await(20, TimeUnit.SECONDS)).isTrue();
            assertThat(servlet.ended.await(20, TimeUnit.SECONDS)).isTrue();
            await().during(Duration.ofMillis(500))
                    .untilAsserted(() -> assertThat(servlet.status).hasValue(200));
        } finally {
            container.stop();
        }
    }
}

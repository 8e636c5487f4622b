package dev.holdfast.mcp;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** A call is given up, and its handler interrupted, while nothing of it is being sent. */
@Timeout(60)
class CallWorkTest {
    private static final CompletionStage<Void> SENT = CompletableFuture.completedFuture(null);

    private final CallWork work = new CallWork(error -> {});
    private final CountDownLatch sending = new CountDownLatch(1);
    private final CountDownLatch goesOn = new CountDownLatch(1);

    /** Sends until the test lets it go on; an interrupt does not end that. */
    private CompletionStage<Void> slowly() {
        sending.countDown();
        while (goesOn.getCount() > 0) {
            Thread.onSpinWait();
        }
        return SENT;
    }

    /** The only thread of the scheduler is that of the handler: whoever ends it must be another. */
    @Test
    void aHandlerIsInterruptedBehindWhatItSends() throws Exception {
        CompletableFuture<Boolean> interruptedInIt = new CompletableFuture<>();
        CompletableFuture<Boolean> interruptedBehind = new CompletableFuture<>();
        Scheduler scheduler = Schedulers.newBoundedElastic(1, 10, "handler");
        try {
            work.begin(() -> Mono.fromRunnable(() -> {
                        work.send(() -> {
                            CompletionStage<Void> sent = slowly();
                            interruptedInIt.complete(Thread.currentThread().isInterrupted());
                            return sent;
                        });
                        try {
                            interruptedBehind.complete(new CountDownLatch(1).await(30, SECONDS));
                        } catch (InterruptedException e) {
                            interruptedBehind.complete(true);
                        }
                    })
                    .subscribeOn(scheduler)
                    .subscribe());
            assertThat(sending.await(20, SECONDS)).isTrue();

            work.dispose();
            goesOn.countDown();

            assertThat(interruptedInIt.get(20, SECONDS)).isFalse();
            assertThat(interruptedBehind.get(40, SECONDS)).isTrue();
        } finally {
            scheduler.dispose();
        }
    }

    @Test
    void theLastOfSeveralThatSendLetsItEnd() throws Exception {
        CompletableFuture<Void> ended = new CompletableFuture<>();
        work.begin(() -> () -> ended.complete(null));
        CompletableFuture<Void> sender = CompletableFuture.runAsync(() -> work.send(this::slowly));
        assertThat(sending.await(20, SECONDS)).isTrue();

        work.dispose();
        work.send(() -> SENT);
        assertThat(ended).isNotDone();

        goesOn.countDown();
        sender.get(20, SECONDS);
        ended.get(20, SECONDS);
    }

    @Test
    void whatIsGivenUpBeforeItBeginsEndsAtOnce() {
        CompletableFuture<Void> ended = new CompletableFuture<>();

        work.dispose();
        work.begin(() -> () -> ended.complete(null));

        assertThat(ended).isDone();
    }

    /** Handlers need not listen to interrupts. */
    @Test
    void aHandlerThatGoesOnSendingIsEndedOnce() {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        work.begin(Disposables::single);
        work.dispose();
        long before = threads.getTotalStartedThreadCount();

        for (int i = 0; i < 1_000; i++) {
            work.send(() -> SENT);
        }

        assertThat(threads.getTotalStartedThreadCount() - before).isLessThan(100);
    }
}

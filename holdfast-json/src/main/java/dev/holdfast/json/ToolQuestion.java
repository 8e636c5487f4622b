package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.spi.BackendConnection;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Asks a server for its tools, page after page, on nobody's behalf: the client sees neither the question nor the answer. It ends with
 * the last page, with an error, with its connection, or when its time is over. Thread-safe.
 */
final class ToolQuestion {
    private static final int MOST_PAGES = 100;
    private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);

    private final BackendConnection connection;
    private final String prefix;
    private final String sessionId;
    private final Consumer<byte[]> learn;
    private final CompletableFuture<Void> over = new CompletableFuture<>();
    private volatile @Nullable Page last;

    /**
     * A question that is not asked yet.
     *
     * @param name makes its ids different from those of other questions, on this connection and others
     * @param learn takes each page
     */
    ToolQuestion(BackendConnection connection, String name, String sessionId, Consumer<byte[]> learn) {
        this.connection = connection;
        this.prefix = "holdfast-tools-" + name + "-";
        this.sessionId = sessionId;
        this.learn = learn;
    }

    /** Asks for the first page; completes at the end of it all, and fails if that took longer than this. */
    CompletionStage<Void> begin(Duration timeout) {
        over.orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS);
        ask(1, "");
        return over;
    }

    /** Ends it, whatever is still to come. */
    void end() {
        over.complete(null);
    }

    /** Tells the server that nobody waits for the answer any more. */
    void withdraw() {
        Page page = last;
        if (page != null) {
            page.cancel();
        }
    }

    private void ask(int number, String params) {
        Page page = new Page(number);
        last = page;
        String text = "{\"jsonrpc\":\"2.0\",\"id\":" + page.id.token() + ",\"method\":\"tools/list\"" + params + "}";
        InboundMessage request = new InboundMessage(
                InboundMessage.Kind.REQUEST,
                page.id,
                RepeatRules.TOOLS_LIST,
                text.getBytes(UTF_8),
                JournalChange.NONE,
                InboundMessage.NO_CONTEXT);
        try {
            // like a replay: what comes before the answer is for nobody
            connection.replay(request, page);
        } catch (RuntimeException e) {
            // whatever is wrong with it, the calls of its client will tell
            end();
        }
    }

    private void answered(int number, OutboundMessage message) {
        Optional<String> cursor = Optional.empty();
        if (message.kind() == EventKind.RESPONSE) {
            learn.accept(message.bytes());
            cursor = JsonPeek.string(message.bytes(), "result", "nextCursor");
        }
        if (cursor.isEmpty() || number == MOST_PAGES || over.isDone()) {
            end();
        } else {
            ask(number + 1, ",\"params\":{\"cursor\":" + JsonText.quoted(cursor.get()) + "}");
        }
    }

    /** Takes one page. */
    private final class Page implements CallSink {
        private final int number;
        private final RequestId id;
        private final AtomicBoolean answered = new AtomicBoolean();
        private final AtomicReference<@Nullable CancelHook> hook = new AtomicReference<>();

        private Page(int number) {
            this.number = number;
            this.id = JsonRpc.stringId(prefix + number);
        }

        @Override
        public CompletionStage<Void> send(OutboundMessage message) {
            if (EventKind.answers(message.kind()) && answered.compareAndSet(false, true)) {
                answered(number, message);
            }
            return DONE;
        }

        @Override
        public void onCancel(CancelHook next) {
            hook.set(next);
            if (over.isCompletedExceptionally()) {
                cancel();
            }
        }

        /** Says why: a backend takes a cancellation without a word for a call that has run into its time limit. */
        private void cancel() {
            CancelHook told = hook.getAndSet(null);
            if (told != null && !answered.get()) {
                told.cancelled(Optional.of(JsonRpc.MESSAGES.read(
                        JsonRpc.MESSAGES.cancelled(id, "it took too long").bytes())));
            }
        }

        @Override
        public void disconnect(Duration retry) {}

        @Override
        public String sessionId() {
            return sessionId;
        }
    }
}

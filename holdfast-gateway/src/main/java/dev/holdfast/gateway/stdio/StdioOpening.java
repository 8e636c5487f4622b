package dev.holdfast.gateway.stdio;

import dev.holdfast.gateway.process.Child;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.process.Workers;
import dev.holdfast.gateway.text.Durations;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.backend.LogText;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.CallSink;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.ListeningSink;
import dev.holdfast.spi.OutboundMessage;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The opening of one connection: when its turn has come, a child is started, and is asked to {@code initialize}, in a bounded time. It is the
 * sink of that one call, which is made before there is a session.
 */
final class StdioOpening implements CallSink {
    private static final Logger log = LoggerFactory.getLogger(StdioOpening.class);
    private static final EnvelopeReader ENVELOPES = EnvelopeReader.ofServer();

    private final StdioBackend backend;
    private final Backend.OpenRequest request;
    private final ListeningSink listening;
    private final Child.Name name;
    private final CompletableFuture<End> end = new CompletableFuture<>();
    /** Completes when no process is started any more. */
    private final CompletableFuture<Void> begun = new CompletableFuture<>();

    private volatile @Nullable Child child;
    private volatile @Nullable StdioConnection connection;

    /** How it ended. */
    private sealed interface End {}

    /** The child has answered, with a result or an error. */
    private record Answered(OutboundMessage response) implements End {}

    /** The child will not answer, for this reason. */
    private record Failed(String cause) implements End {}

    /** The answer is not wanted any more, for this reason. */
    private record Abandoned(String cause) implements End {}

    StdioOpening(StdioBackend backend, Backend.OpenRequest request, ListeningSink listening) {
        this.backend = backend;
        this.request = request;
        this.listening = listening;
        this.name = new Child.Name("child " + request.incarnation(), listening::sessionId);
    }

    /** Starts the child as soon as its turn comes. */
    CompletionStage<Backend.Outcome> begin() {
        OpeningGate.Turn turn = backend.openingGate().turn(this::turnCame);
        turn.ask();
        return end.thenCompose(how -> {
            if (!turn.leave()) {
                begun.complete(null);
            }
            return outcome(how);
        });
    }

    /** Starts the child, on a thread that may block, and lets the time run. */
    private void turnCame() {
        Duration timeout = backend.options().startTimeout();
        Workers workers = backend.workers();
        Runnable late = () -> fail("the server process did not answer initialize within " + Durations.text(timeout));
        Future<?> deadline = workers.clock()
                .schedule(() -> workers.blocking().execute(late), timeout.toNanos(), TimeUnit.NANOSECONDS);
        end.whenComplete((how, failure) -> deadline.cancel(false));
        workers.starters().execute(() -> {
            try {
                start();
            } finally {
                begun.complete(null);
            }
        });
    }

    /** Whether the answer is still awaited. */
    boolean open() {
        return !end.isDone();
    }

    /** Ends the opening without an answer; false if it has ended already. */
    boolean fail(String cause) {
        return end.complete(new Failed(cause));
    }

    /** Gives up, if the child has not answered yet. */
    void abandon(String cause) {
        end.complete(new Abandoned(cause));
    }

    private boolean unanswered() {
        return end.isDone() && !(end.join() instanceof Answered);
    }

    private void start() {
        if (unanswered()) {
            return;
        }
        ServerCommand command = backend.command();
        if (command.executable().isEmpty()) {
            backend.notStarted();
            String fault = command.fault();
            backend.lines().write(more -> log.error("{}: the command {}: {}{}", name, fault, command.program(), more));
            fail("the server's command " + fault + (backend.options().showErrors() ? ": " + command.program() : ""));
            return;
        }
        try {
            Child started = backend.start(name);
            StdioConnection open = new StdioConnection(started, request.incarnation(), listening, this, ENVELOPES);
            child = started;
            connection = open;
            listening.onAnswer(open::answer);
            open.call(request.initialize(), this);
            started.listen(open);
            if (unanswered()) {
                open.close();
            }
            backend.workers().inherited().forget(started.process());
        } catch (Throwable e) {
            // whatever it was, somebody waits for the end of this
            backend.lines().write(more -> log.error("{} could not be started{}", command.program(), more, e));
            fail("the server process could not be started");
        }
    }

    @Override
    public CompletionStage<Void> send(OutboundMessage message) {
        if (EventKind.answers(message.kind())) {
            end.complete(new Answered(message));
        }
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public void onCancel(CancelHook hook) {}

    @Override
    public void disconnect(Duration retry) {}

    @Override
    public String sessionId() {
        return "";
    }

    private CompletionStage<Backend.Outcome> outcome(End how) {
        if (how instanceof Answered answered) {
            return answered(answered.response);
        }
        return how instanceof Failed failed ? failed(failed.cause) : unreachable(((Abandoned) how).cause);
    }

    private CompletionStage<Backend.Outcome> answered(OutboundMessage response) {
        if (response.kind() == EventKind.ERROR) {
            return closed(new Backend.Refused(response));
        }
        Optional<String> revision = ENVELOPES.read(response.bytes()) instanceof EnvelopeReader.Single single
                ? single.message().protocolVersion()
                : Optional.empty();
        if (revision.isEmpty()) {
            return failed("the server answered initialize without a protocolVersion");
        }
        return CompletableFuture.completedFuture(
                new Backend.Opened(Objects.requireNonNull(connection), response, revision.get(), Optional.empty()));
    }

    private CompletionStage<Backend.Outcome> failed(String cause) {
        backend.lines()
                .write(more ->
                        log.warn("{}: a session could not be opened: {}{}", name, LogText.shortened(cause), more));
        return unreachable(cause);
    }

    private CompletionStage<Backend.Outcome> unreachable(String cause) {
        Child last = child;
        String errors = last == null || !backend.options().showErrors() ? "" : last.lastErrors();
        String text = errors.isEmpty() ? cause : cause + "; its last error output was:\n" + errors;
        return closed(new Backend.Unreachable(
                JsonRpc.MESSAGES.error(request.initialize().requiredId(), JsonRpc.SERVER_ERROR, text), cause));
    }

    /** An outcome that leaves nothing behind, once nothing is left. */
    private CompletionStage<Backend.Outcome> closed(Backend.Outcome outcome) {
        return begun.thenCompose(started -> {
                    StdioConnection open = connection;
                    return open == null ? begun : open.close();
                })
                .thenApply(gone -> outcome);
    }
}

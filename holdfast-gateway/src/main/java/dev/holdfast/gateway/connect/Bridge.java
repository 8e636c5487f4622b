package dev.holdfast.gateway.connect;

import dev.holdfast.client.NotTakenException;
import dev.holdfast.client.Outcome;
import dev.holdfast.client.RemoteServer;
import dev.holdfast.client.ServerSession;
import dev.holdfast.client.SessionOpener;
import dev.holdfast.client.SessionWatch;
import dev.holdfast.client.held.HeldSession;
import dev.holdfast.gateway.process.DaemonThreads;
import dev.holdfast.gateway.process.LineReader;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonRpc;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Passes messages between a client on standard input and output and a server over HTTP. The bytes of a message are passed as they
 * are; a request that gets no answer from the server gets an error from here.
 */
public final class Bridge {
    private static final Logger log = LoggerFactory.getLogger(Bridge.class);
    private static final EnvelopeReader ENVELOPES = new EnvelopeReader();
    /** How long running calls may take once the input has ended. A client that wants no answers sends a signal before. */
    private static final long LAST_ANSWERS_SECONDS = 10;
    /** How long the server may take to hear that the session ends. */
    private static final long CLOSE_SECONDS = 3;

    private final HeldSession session;
    private final InputStream in;
    private final LineWriter out;
    private final int messageBytes;
    /** How many messages of the client have no end yet; one more while its input lasts. */
    private final AtomicInteger unfinished = new AtomicInteger(1);

    private final CompletableFuture<Void> lastAnswered = new CompletableFuture<>();

    /**
     * A bridge that was not started.
     *
     * @param in the client's messages, one on each line
     * @param out takes the server's
     */
    public Bridge(RemoteServer server, SessionOpener.Protocol protocol, InputStream in, OutputStream out) {
        this.in = in;
        this.out = new LineWriter(out);
        this.messageBytes = server.limits().messageBytes();
        this.session = new HeldSession(
                server, protocol, this::fromServer, new Told(server.uri().getHost()));
    }

    /** Tells the log what happens. */
    private record Told(String server) implements SessionWatch {
        @Override
        public void reconnecting(Throwable cause) {
            log.warn("the connection to {} broke and is brought back: {}", server, cause.toString());
        }

        @Override
        public void resumed(Duration away) {
            log.info("the connection to {} is back after {} ms", server, away.toMillis());
        }

        @Override
        public void gap() {
            log.warn("notifications of {} may be missing", server);
        }

        @Override
        public void sessionReplaced() {
            log.warn("{} had lost the session; another one has taken its place", server);
        }

        @Override
        public void failed(Throwable failure) {
            log.warn("{}: {}", server, failure.toString());
        }
    }

    /** Passes messages on until the input ends, or nobody reads the output; then ends the session. For one thread, which waits. */
    public void run() {
        CompletableFuture<Boolean> whole = CompletableFuture.supplyAsync(
                () -> {
                    read();
                    return true;
                },
                DaemonThreads.starting("holdfast-stdin"));
        out.unread().thenRun(() -> whole.complete(false));
        try {
            if (whole.join()) {
                awaitLastAnswers();
            } else {
                log.warn("nobody reads the output any more");
            }
        } finally {
            close();
            out.close();
        }
    }

    private void read() {
        LineReader lines = new LineReader(in, messageBytes);
        for (LineReader.Next next = lines.next(); !(next instanceof LineReader.End); next = lines.next()) {
            if (next instanceof LineReader.Line line && !isBlank(line.bytes())) {
                fromClient(line.bytes());
            } else if (next instanceof LineReader.TooLong tooLong) {
                out.write(JsonRpc.errorBody(
                        ENVELOPES.asked(tooLong.start()),
                        JsonRpc.INVALID_REQUEST,
                        "a message has more than " + messageBytes + " bytes"));
            }
        }
    }

    private static boolean isBlank(byte[] line) {
        for (byte each : line) {
            if (each != ' ' && each != '\t' && each != '\r') {
                return false;
            }
        }
        return true;
    }

    private void fromClient(byte[] line) {
        EnvelopeReader.Parsed parsed = ENVELOPES.read(line);
        if (parsed instanceof EnvelopeReader.Single single) {
            send(single.message());
        } else if (parsed instanceof EnvelopeReader.Batch batch) {
            batch.messages().forEach(this::send);
        } else if (parsed instanceof EnvelopeReader.Malformed malformed) {
            out.write(
                    JsonRpc.errorBody(ENVELOPES.asked(line).or(malformed::id), malformed.code(), malformed.message()));
        }
    }

    private void send(Envelope message) {
        unfinished.incrementAndGet();
        session.send(message, ServerSession.NO_CONTEXT).whenComplete((outcome, failure) -> {
            try {
                if (failure != null) {
                    log.error("a message was lost here", failure);
                } else {
                    Answers.to(message, outcome).ifPresent(out::write);
                }
            } finally {
                answered();
            }
        });
    }

    private CompletionStage<Void> fromServer(Envelope message) {
        return out.write(message.onOneLine());
    }

    private void answered() {
        if (unfinished.decrementAndGet() == 0) {
            lastAnswered.complete(null);
        }
    }

    /** Waits for running calls, until the session is closed or nobody reads the output any more. */
    private void awaitLastAnswers() {
        answered();
        try {
            CompletableFuture.anyOf(lastAnswered, out.unread().toCompletableFuture())
                    .get(LAST_ANSWERS_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            log.info("the client has left while calls were running");
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Ends the session now. */
    public void close() {
        CompletableFuture<Void> told = session.close().toCompletableFuture();
        try {
            told.get(CLOSE_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException | ExecutionException e) {
            log.debug("the server was not told that the session ends", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Writes messages, one on each line, by a thread of its own: a client that does not read stops nobody but those who write to it. */
    static final class LineWriter implements AutoCloseable {
        private static final Logger log = LoggerFactory.getLogger(LineWriter.class);
        private static final int BUFFER = 65_536;
        private static final long LAST_WRITE_SECONDS = 1;

        private final OutputStream out;
        private final CompletableFuture<Void> unread = new CompletableFuture<>();
        private final ExecutorService thread =
                Executors.newSingleThreadExecutor(DaemonThreads.named("holdfast-stdout"));

        LineWriter(OutputStream out) {
            this.out = new BufferedOutputStream(out, BUFFER);
        }

        /** Completes when a write fails, for nobody reads any more. */
        CompletionStage<Void> unread() {
            return unread;
        }

        /** Writes a line; the stage completes when it is written, and fails when nobody reads any more. */
        CompletionStage<Void> write(byte[] line) {
            try {
                return CompletableFuture.runAsync(() -> writeNow(line), thread);
            } catch (RejectedExecutionException e) {
                return CompletableFuture.failedFuture(e);
            }
        }

        private void writeNow(byte[] line) {
            try {
                out.write(line);
                out.write('\n');
                out.flush();
            } catch (IOException e) {
                log.debug("nobody reads the output any more", e);
                unread.complete(null);
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void close() {
            thread.shutdown();
            try {
                if (!thread.awaitTermination(LAST_WRITE_SECONDS, TimeUnit.SECONDS)) {
                    thread.shutdownNow();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Errors for requests that the server has not answered. */
    static final class Answers {
        private static final int UNAUTHORIZED = 401;
        private static final int FORBIDDEN = 403;

        private Answers() {}

        /** The error for a request without a response; empty for other messages, and where there was a response. */
        static Optional<byte[]> to(Envelope message, Outcome outcome) {
            boolean answered = message.kind() != Envelope.Kind.REQUEST
                    || outcome instanceof Outcome.Done
                    || outcome instanceof Outcome.Cancelled;
            if (answered) {
                return Optional.empty();
            }
            Optional<byte[]> said = outcome instanceof Outcome.Refused refused
                            && (refused.answers(message) || !wantsCredentials(refused))
                    ? message.id().flatMap(refused::error).map(Envelope::onOneLine)
                    : Optional.empty();
            return Optional.of(
                    said.orElseGet(() -> JsonRpc.errorBody(message.id(), JsonRpc.SERVER_ERROR, reason(outcome))));
        }

        private static boolean wantsCredentials(Outcome.Refused refused) {
            return refused.status() == UNAUTHORIZED || refused.status() == FORBIDDEN;
        }

        private static String refusal(Outcome.Refused refused) {
            if (wantsCredentials(refused)) {
                return "the server wants other credentials (status " + refused.status() + refused.challenge()
                        + "): see --header and --header-file";
            }
            String elsewhere = refused.headers()
                    .firstValue("location")
                    .map(url -> ", and names " + url)
                    .orElse("");
            return "the server refused the request with status " + refused.status() + elsewhere;
        }

        private static String reason(Outcome outcome) {
            if (outcome instanceof Outcome.Refused refused) {
                return refusal(refused);
            }
            if (outcome instanceof Outcome.NotSent not && not.cause() instanceof NotTakenException refusal) {
                return String.valueOf(refusal.getMessage());
            }
            if (outcome instanceof Outcome.NotSent not) {
                return "the server cannot be reached: " + not.cause();
            }
            if (outcome instanceof Outcome.Unknown lost) {
                return "the answer is lost, and nobody knows whether the server executed the request: " + lost.reason();
            }
            if (outcome instanceof Outcome.Unreadable unreadable) {
                return "the server's answer cannot be read: " + unreadable.reason();
            }
            return outcome instanceof Outcome.SessionGone
                    ? "the server has lost the session, and opens no other"
                    : "the connection is closed";
        }
    }
}

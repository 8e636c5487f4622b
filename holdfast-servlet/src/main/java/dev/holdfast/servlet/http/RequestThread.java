package dev.holdfast.servlet.http;

import dev.holdfast.Call;
import dev.holdfast.servlet.body.BodyReader;
import dev.holdfast.servlet.body.BodyTaker;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** What the thread of a request does while something that the request needs is not there yet. */
enum RequestThread {
    /** It goes back to the container; the request goes on where that comes. */
    LEAVES {
        @Override
        <T> CompletableFuture<T> await(CompletionStage<T> stage) {
            return stage.toCompletableFuture();
        }

        @Override
        void dispatch(Call call) {
            call.dispatch();
        }

        @Override
        Optional<byte[]> read(
                BodyReader bodies, HttpServletRequest request, HttpServletResponse response, BodyTaker taker)
                throws IOException {
            return bodies.read(request, response, taker);
        }
    },

    /**
     * It waits, so that a backend that executes immediately is called on it. The engine bounds how long a stage takes: a store that
     * fails, a backend that does not come, and a session that ends complete it.
     */
    STAYS {
        @Override
        <T> CompletableFuture<T> await(CompletionStage<T> stage) {
            CompletableFuture<T> future = stage.toCompletableFuture();
            if (!future.isDone()) {
                // how it ended is for whoever goes on with it
                future.handle((value, failure) -> true).join();
            }
            return future;
        }

        @Override
        void dispatch(Call call) {
            CompletableFuture<Runnable> backend = new CompletableFuture<>();
            call.dispatch(backend::complete);
            backend.join().run();
        }

        @Override
        Optional<byte[]> read(
                BodyReader bodies, HttpServletRequest request, HttpServletResponse response, BodyTaker taker)
                throws IOException {
            return bodies.await(request, response, taker);
        }
    };

    /** Returns a stage as a future, which is complete where the thread waits. */
    abstract <T> CompletableFuture<T> await(CompletionStage<T> stage);

    /** Hands a call to its backend. */
    abstract void dispatch(Call call);

    /** Returns the body of a request if it has arrived; else it is handed over later, or never. */
    abstract Optional<byte[]> read(
            BodyReader bodies, HttpServletRequest request, HttpServletResponse response, BodyTaker taker)
            throws IOException;
}

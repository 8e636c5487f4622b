package dev.holdfast.gateway.http;

import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;

/** Writes for ever, without blocking, and takes hold of its connection. */
final class FloodServlet extends HttpServlet {
    /** Completes with the reset of the connection when its peer takes no more. */
    final transient CompletableFuture<Runnable> stuck = new CompletableFuture<>();
    /** Completes when the container has noticed that the connection is gone. */
    final transient CompletableFuture<Throwable> broken = new CompletableFuture<>();

    private final byte[] chunk = new byte[64 << 10];

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        Runnable reset = WatchedEndPoint.connectionReset(request);
        request.startAsync().setTimeout(0);
        ServletOutputStream out = response.getOutputStream();
        out.setWriteListener(new WriteListener() {
            @Override
            public void onWritePossible() throws IOException {
                while (out.isReady()) {
                    out.write(chunk);
                }
                stuck.complete(reset);
            }

            @Override
            public void onError(Throwable failure) {
                broken.complete(failure);
                request.getAsyncContext().complete();
            }
        });
    }
}

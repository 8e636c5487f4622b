package dev.holdfast.servlet;

import dev.holdfast.engine.SessionEngine;
import dev.holdfast.servlet.guard.RequestGuard;
import dev.holdfast.servlet.http.Streams;
import dev.holdfast.servlet.io.EdgeClock;
import dev.holdfast.servlet.sse.ConnectionClock;
import jakarta.servlet.http.HttpServletRequest;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The faces of one endpoint. */
final class Faces {
    private final ConnectionClock connections;
    private final Optional<HttpSse> httpSse;
    private final List<Face> faces;

    Faces(SessionEngine engine, EdgeOptions options, EdgeClock clock) {
        this.connections = new ConnectionClock(clock, options.times(), engine::stalled);
        FaceContext context = new FaceContext(
                engine,
                options,
                new RequestGuard(options.maxRequestSize()),
                clock,
                new Streams(connections, options.connectionReset()::of, options.peerWatch()::watch));
        this.httpSse = options.httpSse()
                .map(sse -> new HttpSse(
                        context,
                        sse,
                        new HttpSsePeers(connections, sse.reconnectGrace().isZero())));
        this.faces = Stream.concat(httpSse.stream(), Stream.of(new StreamableHttp(context)))
                .toList();
    }

    /** The face that a request is for: the last one serves what no other does. */
    Face of(HttpServletRequest request) {
        int last = faces.size() - 1;
        for (int i = 0; i < last; i++) {
            if (faces.get(i).serves(request)) {
                return faces.get(i);
            }
        }
        return faces.get(last);
    }

    /** HTTP+SSE, if it is served. */
    Optional<HttpSse> httpSse() {
        return httpSse;
    }

    /** How many streams are open. */
    int openConnections() {
        return connections.size();
    }

    void stop() {
        faces.forEach(Face::stop);
        connections.stop();
    }
}

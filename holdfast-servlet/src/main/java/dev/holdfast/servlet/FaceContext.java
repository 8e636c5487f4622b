package dev.holdfast.servlet;

import dev.holdfast.engine.SessionEngine;
import dev.holdfast.servlet.guard.RequestGuard;
import dev.holdfast.servlet.http.Streams;
import dev.holdfast.servlet.io.EdgeClock;

/**
 * What all faces of one endpoint share.
 *
 * @param clock the time of all that is open
 * @param streams opens the connections
 */
record FaceContext(SessionEngine engine, EdgeOptions options, RequestGuard guard, EdgeClock clock, Streams streams) {}

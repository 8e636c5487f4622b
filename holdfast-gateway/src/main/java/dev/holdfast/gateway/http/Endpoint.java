package dev.holdfast.gateway.http;

import dev.holdfast.engine.SessionEngine;
import jakarta.servlet.http.HttpServlet;

/**
 * An MCP endpoint, for the HTTP server in front of it.
 *
 * @param servlet answers the requests
 * @param guard lets those see further pages whom the servlet serves
 * @param engine its sessions
 * @param metrics what is measured of it
 */
public record Endpoint(HttpServlet servlet, Guard guard, SessionEngine engine, Metrics metrics) {}

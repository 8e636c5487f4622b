/**
 * The edge on Jakarta Servlet 6.1: Streamable HTTP, and HTTP+SSE beside it. {@link dev.holdfast.servlet.McpEndpoint} serves a
 * {@link dev.holdfast.engine.SessionEngine} to HTTP clients; {@link dev.holdfast.servlet.McpServlet} is that as a servlet. The packages
 * below this one are internal.
 */
@NullMarked
package dev.holdfast.servlet;

import org.jspecify.annotations.NullMarked;

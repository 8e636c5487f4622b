/**
 * The edge: Streamable HTTP on Jakarta Servlet 6.1. {@link dev.holdfast.servlet.McpEndpoint} serves a {@link
 * dev.holdfast.SessionEngine} to HTTP clients; {@link dev.holdfast.servlet.McpServlet} is that as a servlet.
 */
@NullMarked
package dev.holdfast.servlet;

import org.jspecify.annotations.NullMarked;

/** An MCP server behind a URL, as a backend of sessions: {@link dev.holdfast.upstream.UpstreamBackend}. */
@NullMarked
package dev.holdfast.upstream;

import org.jspecify.annotations.NullMarked;

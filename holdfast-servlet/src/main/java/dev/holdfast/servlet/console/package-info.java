/**
 * The console: what a page shows of the sessions of one process or many servers, and what it may do. Internal: for those who serve it, and
 * knows nothing of how.
 */
@NullMarked
package dev.holdfast.servlet.console;

import org.jspecify.annotations.NullMarked;

/** All sessions of one node: finding, opening, restoring, bounding and draining them. Start at {@link dev.holdfast.engine.SessionEngine}. */
@NullMarked
package dev.holdfast.engine;

import org.jspecify.annotations.NullMarked;

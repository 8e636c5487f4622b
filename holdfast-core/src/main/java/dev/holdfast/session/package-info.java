/** One conversation: what its client and its backend send, how it begins, is restored, parked and ends. It knows no engine. */
@NullMarked
package dev.holdfast.session;

import org.jspecify.annotations.NullMarked;

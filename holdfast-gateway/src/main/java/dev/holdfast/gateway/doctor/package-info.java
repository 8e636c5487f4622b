/** {@code holdfast doctor}: what lies between a client and a server, measured through it. */
@NullMarked
package dev.holdfast.gateway.doctor;

import org.jspecify.annotations.NullMarked;

package dev.holdfast.json;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Tells UTF-8 from what only looks like it: overlong forms, encoded surrogates and code points beyond U+10FFFF are refused. */
final class Utf8 {
    private static final VarHandle EIGHT_BYTES =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final long NOT_ASCII = 0x8080808080808080L;

    private Utf8() {}

    /** Returns the index of the first byte that begins no valid character, or the array's length when there is none. */
    static int validEnd(byte[] bytes, int from) {
        int at = from;
        while (at < bytes.length) {
            if (at + Long.BYTES <= bytes.length && ((long) EIGHT_BYTES.get(bytes, at) & NOT_ASCII) == 0) {
                at += Long.BYTES;
                continue;
            }
            int length = characterLength(bytes, at);
            if (length == 0) {
                return at;
            }
            at += length;
        }
        return at;
    }

    /** How many bytes the character at this place has; 0 when it is none. */
    private static int characterLength(byte[] bytes, int at) {
        int lead = bytes[at] & 0xFF;
        if (lead < 0x80) {
            return 1;
        }
        if (lead < 0xC2 || lead > 0xF4) {
            return 0;
        }
        int length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        if (at + length > bytes.length || !secondFits(lead, bytes[at + 1] & 0xFF)) {
            return 0;
        }
        for (int i = 2; i < length; i++) {
            if ((bytes[at + i] & 0xC0) != 0x80) {
                return 0;
            }
        }
        return length;
    }

    private static boolean secondFits(int lead, int second) {
        int lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
        int highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        return second >= lowest && second <= highest;
    }
}

/** The server's name for a caller without a key. */
export const ANONYMOUS_ID = 'open';

/** Who did something, for a person. */
export const actorName = (id: unknown): string => (id === ANONYMOUS_ID ? 'anonymous' : String(id));

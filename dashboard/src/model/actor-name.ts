/** The server's name for a caller without a key. */
export const ANONYMOUS_ID = 'open';

const ANONYMOUS_NAME = 'anonymous';

/** Who did something, for a person. */
export const actorName = (id: unknown): string => (id === ANONYMOUS_ID ? ANONYMOUS_NAME : String(id));

/** The id of an actor by the name that the page shows. */
export const actorId = (name: string): string => (name === ANONYMOUS_NAME ? ANONYMOUS_ID : name);

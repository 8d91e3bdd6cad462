import { agentIdSchema, ID_LENGTH_MAX } from '../../core/ids.js';

const SESSION_PREFIX = 'inbox.';
const AGENT_LENGTH_MAX = ID_LENGTH_MAX - SESSION_PREFIX.length;
const COMMAND_FILE = /^[A-Za-z0-9][A-Za-z0-9._~@+-]{0,127}\.json$/;

/** An inbox is named after its agent, whose session of its own has a name that fits as well. */
export const isAgentFolder = (name: string): boolean =>
  name.length <= AGENT_LENGTH_MAX && agentIdSchema.safeParse(name).success;

/** A name with this ending is kept for what is said of a broken file. */
export const REASON_SUFFIX = '.reason.json';

export const isCommandFile = (name: string): boolean =>
  COMMAND_FILE.test(name) && !name.endsWith(REASON_SUFFIX);

/** Somebody is still writing it, or hides it: nobody's command yet. */
export const isTemporaryFile = (name: string): boolean => name.startsWith('.') || name.endsWith('.tmp');

/** The session of an agent that names none. Who can write into its inbox speaks for it. */
export const inboxSessionOf = (agentId: string): string => `${SESSION_PREFIX}${agentId}`;

export const isInboxSession = (sessionId: string): boolean => sessionId.startsWith(SESSION_PREFIX);

import { agentIdSchema, ID_LENGTH_MAX } from '../../core/ids.js';
import { INBOX_SESSION_PREFIX } from '../../core/sessions.js';

const AGENT_LENGTH_MAX = ID_LENGTH_MAX - INBOX_SESSION_PREFIX.length;
const COMMAND_FILE = /^[A-Za-z0-9][A-Za-z0-9._~@+-]{0,127}\.json$/;

/** Whether the name can be that of an inbox, which is an agent's id. Its length leaves space for the session's prefix. */
export const isAgentFolder = (name: string): boolean =>
  name.length <= AGENT_LENGTH_MAX && agentIdSchema.safeParse(name).success;

/** Reserved for the reason files of quarantined files. */
export const REASON_SUFFIX = '.reason.json';

export const isCommandFile = (name: string): boolean =>
  COMMAND_FILE.test(name) && !name.endsWith(REASON_SUFFIX);

/** A file that is still being written, or is hidden: not a command yet. */
export const isTemporaryFile = (name: string): boolean => name.startsWith('.') || name.endsWith('.tmp');

/** The session of an agent whose command names none. Write access to the inbox authenticates it. */
export const inboxSessionOf = (agentId: string): string => `${INBOX_SESSION_PREFIX}${agentId}`;

export const isInboxSession = (sessionId: string): boolean => sessionId.startsWith(INBOX_SESSION_PREFIX);

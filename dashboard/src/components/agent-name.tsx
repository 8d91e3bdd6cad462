import { actorName } from '../model/actor-name.js';
import { UntrustedText } from './untrusted-text.js';

/** The agent that did something; a caller without a key is named anonymous. */
export const AgentName = ({ id }: { id: string }) => <UntrustedText text={actorName(id)} />;

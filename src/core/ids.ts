import { z } from 'zod';
import { ID_LENGTH_MAX, ID_PATTERN, idGrammarText, idTooLongText } from './id-grammar.js';

export { ID_LENGTH_MAX } from './id-grammar.js';

/** The length check comes first and aborts, so that no pattern runs over text of unbounded size. */
const idSchema = (label: string) =>
  z
    .string()
    .max(ID_LENGTH_MAX, { error: idTooLongText(label), abort: true })
    .regex(ID_PATTERN, { error: idGrammarText(label) });

export const tenantIdSchema = idSchema('tenant_id');
export const projectIdSchema = idSchema('project_id');
export const agentIdSchema = idSchema('agent_id');
export const sessionIdSchema = idSchema('session_id');
export const requestIdSchema = idSchema('request_id');
export const keyIdSchema = idSchema('key_id');

const AGENT_ROLE_LENGTH_MAX = 64;
/** The agent role that a credential is limited to. */
export const agentRoleSchema = z
  .string()
  .max(AGENT_ROLE_LENGTH_MAX, {
    error: `an agent_role has at most ${AGENT_ROLE_LENGTH_MAX} characters`,
    abort: true,
  })
  .regex(ID_PATTERN, { error: idGrammarText('agent_role') });

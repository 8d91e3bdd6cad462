import { z } from 'zod';

export const ID_LENGTH_MAX = 128;

/** The length is judged first and ends the judging: no pattern ever runs over a text of any size. */
const id = (what: string) =>
  z
    .string()
    .max(ID_LENGTH_MAX, { error: `a ${what} has at most ${ID_LENGTH_MAX} characters`, abort: true })
    .regex(/^[A-Za-z0-9][A-Za-z0-9._~@+-]{0,127}$/, {
      error: `a ${what} starts with a letter or digit and goes on with letters, digits and . _ ~ @ + -`,
    });

export const tenantIdSchema = id('tenant_id');
export const projectIdSchema = id('project_id');
export const agentIdSchema = id('agent_id');
export const sessionIdSchema = id('session_id');
export const requestIdSchema = id('request_id');
export const keyIdSchema = id('key_id');

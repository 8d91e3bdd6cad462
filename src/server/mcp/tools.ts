import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Action } from '../auth/principal.js';
import { type Fleet, isTrouble, type Taker, type Trouble } from './fleet.js';
import {
  type Told,
  toldClaim,
  toldExplanation,
  toldNote,
  toldRelease,
  toldRenewal,
  toldStatus,
  toldSubmission,
  toldTrouble,
} from './replies.js';

/** Who takes work, where the call does not say. */
export interface Identity {
  readonly agent_id?: string | undefined;
  readonly session_id?: string | undefined;
}

/** A reply, and whether it is about a broken call rather than a decision. */
export interface ToolReply {
  readonly told: Told;
  readonly is_error: boolean;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType;
  readonly action: Action;
  readonly run: (fleet: Fleet, args: unknown, identity: Identity) => Promise<ToolReply>;
}

/**
 * The schemas say what a model must know to call, and no more: they sit in its context all the time. What a value may
 * be is decided where every other way in has it decided.
 */
const handle = z
  .strictObject({ task_id: z.string(), generation: z.number(), claim_id: z.string(), session_id: z.string() })
  .describe('As the grant gave it');
const seconds = z.number().optional();
/** A schema that names no type makes some clients doubt it: so all of them are named. */
const anyJson = z.unknown().meta({
  description: 'Any JSON',
  type: ['object', 'array', 'string', 'number', 'boolean', 'null'],
});
const taker = {
  agent_id: z.string().optional(),
  session_id: z.string().optional().describe('Of your last reply'),
};

export const TOOLS: readonly Tool[] = [
  tool(
    'next',
    'Take the best ready work of the project. Returns its briefing and the handle that every later call about it needs.',
    'work',
    z.strictObject({
      track: z.string().optional(),
      wait_seconds: z.number().optional().describe('0-30, until something is ready'),
      lease_duration_seconds: seconds,
      ...taker,
    }),
    async (fleet, { agent_id, session_id, ...ask }, identity) => {
      const who = takerOf({ agent_id, session_id }, identity);
      return answer(await fleet.next({ ...ask, ...who }), (result) => toldClaim(result, who));
    },
  ),
  tool(
    'claim',
    'Take one task by its id.',
    'work',
    z.strictObject({ task_id: z.string(), lease_duration_seconds: seconds, ...taker }),
    async (fleet, { task_id, lease_duration_seconds, ...given }, identity) => {
      const who = { ...takerOf(given, identity), lease_duration_seconds };
      return answer(await fleet.claim(task_id, who), (result) => toldClaim(result, who));
    },
  ),
  tool(
    'renew',
    'Keep work you hold: its lease starts again. A refusal means that you lost it: stop.',
    'work',
    z.strictObject({ handle, lease_duration_seconds: seconds }),
    async (fleet, { handle, lease_duration_seconds }) =>
      answer(await fleet.renew(handle, lease_duration_seconds), (result) => toldRenewal(result, handle)),
  ),
  tool(
    'submit',
    'Hand in the result of work you hold. A refused result is kept where its reply says parked.',
    'work',
    z.strictObject({ handle, result_data: anyJson }),
    async (fleet, { handle, result_data }) =>
      answer(await fleet.submit(handle, result_data), (result) => toldSubmission(result, handle)),
  ),
  tool(
    'release',
    'Give work back unfinished: VOLUNTARY, or ERROR with a message when it failed.',
    'work',
    z.strictObject({
      handle,
      reason: z.enum(['VOLUNTARY', 'ERROR']).optional(),
      message: z.string().optional(),
    }),
    async (fleet, { handle, ...ask }) =>
      answer(await fleet.release(handle, ask), (result) => toldRelease(result, handle)),
  ),
  tool(
    'note',
    'Leave a note on work you hold for whoever takes it after you (at most 4 KiB).',
    'work',
    z.strictObject({ handle, text: z.string() }),
    async (fleet, { handle, text }) =>
      answer(await fleet.note(handle, text), (result) => toldNote(result, handle)),
  ),
  tool(
    'status',
    'How the project stands: progress, who holds what, what waits for a human.',
    'read',
    z.strictObject({}),
    async (fleet) => answer(await fleet.status(), toldStatus),
  ),
  tool(
    'explain',
    'Why a task can or cannot be claimed now, and what to do about it.',
    'read',
    z.strictObject({ task_id: z.string() }),
    async (fleet, { task_id }) => answer(await fleet.explain(task_id), toldExplanation),
  ),
];

function tool<Input extends z.ZodType>(
  name: string,
  description: string,
  action: Action,
  input: Input,
  run: (fleet: Fleet, args: z.infer<Input>, identity: Identity) => Promise<ToolReply>,
): Tool {
  // The arguments have been read by `input` before `run` gets them.
  return { name, description, action, input, run: run as Tool['run'] };
}

function answer<T extends object>(reply: T | Trouble, tell: (result: T) => Told): ToolReply {
  return isTrouble(reply) ? troubled(reply) : { told: tell(reply), is_error: false };
}

export const troubled = (trouble: Trouble): ToolReply => ({ told: toldTrouble(trouble), is_error: true });

/** Whoever names no session gets one of its own, and is told it: two that share one could not be told apart. */
function takerOf(given: Identity, identity: Identity): Taker {
  const session_id =
    given.session_id ?? identity.session_id ?? `mcp-${randomBytes(SESSION_BYTES).toString('hex')}`;
  return { session_id, agent_id: given.agent_id ?? identity.agent_id ?? session_id };
}

const SESSION_BYTES = 8;

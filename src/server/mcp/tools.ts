import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { ClaimResult } from '../../coordinator/wire.js';
import type { EffectiveCheck } from '../../core/graph/checklist.js';
import { CHECK_RESULTS, countedReports } from '../../core/graph/convergence.js';
import { kindOf } from '../../core/subject.js';
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
const evaluators = z
  .array(z.strictObject({ name: z.string(), type: z.string().optional(), result: z.enum(CHECK_RESULTS) }))
  .optional()
  .describe('How the checks of an edge came out');
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
    'Take one task by its id, or an edge of a feature: as task_id FEATURE#EDGE, or by feature_id and edge.',
    'work',
    z.strictObject({
      task_id: z.string().optional(),
      feature_id: z.string().optional(),
      edge: z.string().optional(),
      agent_role: z.string().optional(),
      lease_duration_seconds: seconds,
      ...taker,
    }),
    async (fleet, { agent_id, session_id, lease_duration_seconds, agent_role, ...named }, identity) => {
      const who = { ...takerOf({ agent_id, session_id }, identity), lease_duration_seconds, agent_role };
      const reply = await fleet.claim(named, who);
      const checks = await checksFor(fleet, reply);
      return answer(reply, (result) => toldClaim(result, who, checks));
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
    'Hand in the result of work you hold; of an edge, with how its checks came out. A refused result is kept where its reply says parked.',
    'work',
    z.strictObject({ handle, result_data: anyJson, evaluators, iteration: z.number().optional() }),
    async (fleet, { handle, evaluators, ...handed }) => {
      const reported = evaluators === undefined ? {} : { evaluators: countedReports(evaluators) };
      const reply = await fleet.submit(handle, { ...handed, ...reported });
      return answer(reply, (result) => toldSubmission(result, handle));
    },
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

/** What an edge that was granted asks for. Not to know it does no harm: a submission is told what it lacks. */
async function checksFor(fleet: Fleet, reply: ClaimResult | Trouble): Promise<readonly EffectiveCheck[]> {
  if (isTrouble(reply) || reply.claim === null || kindOf(reply.claim.task_id) !== 'edge') return [];
  const state = await fleet.task(reply.claim.task_id);
  return isTrouble(state) ? [] : (state.checks ?? []);
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

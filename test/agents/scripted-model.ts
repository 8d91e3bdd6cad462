/**
 * A model that forgets everything between two calls: what it does next follows from the text of the last reply, and
 * from its instructions, which never change. When in doubt it asks for work.
 */

/** What every model is told once. */
export interface Instructions {
  readonly lease_duration_seconds?: number;
  readonly agent_role?: string;
  /** Whether the model writes files and submits them as drafts. */
  readonly usesDrafts: boolean;
}

export interface ScriptedCall {
  readonly tool: 'next' | 'note' | 'submit';
  readonly args: Readonly<Record<string, unknown>>;
  /** Written before the call: a path from the project's root, and the text. */
  readonly file?: readonly [path: string, text: string];
}

interface Handle {
  readonly task_id: string;
  readonly generation: number;
}

interface Check {
  readonly name: string;
  readonly type?: string;
}

/** The replies over MCP and over HTTP, as far as the model reads them. */
export interface ServerReply {
  readonly reason?: string;
  readonly success?: boolean;
  readonly accepted?: boolean;
  readonly resumed?: boolean;
  readonly done?: boolean;
  readonly next?: string;
  readonly parked?: string | null;
  readonly handle?: Handle;
  readonly checks?: readonly Check[];
  readonly failing?: readonly Check[];
  readonly briefing?: {
    readonly handle?: Handle;
    readonly checks?: readonly Check[];
    readonly failed?: readonly Check[];
    readonly review?: { readonly comment: string | null };
    readonly draft_folder?: string;
  };
}

export const readReply = (text: string): ServerReply => JSON.parse(text) as ServerReply;

/** The handle of the work that a reply grants, if it grants any. */
export const handleIn = ({ handle, briefing }: ServerReply): Handle | undefined => handle ?? briefing?.handle;

/** The file of a piece of work, under its path in the project. */
export const fileOf = (taskId: string): string => `docs/${taskId.replace('#', '-')}.md`;

export const textOf = ({ task_id, generation }: Handle, comment: string | null): string =>
  `${task_id}, generation ${generation}${comment === null ? '' : `: ${comment}`}\n`;

const WAIT_SECONDS = 5;

/** The model's next call; null if all work is done. */
export function nextCall(text: string | null, instructions: Instructions): ScriptedCall | null {
  const reply = text === null ? {} : readReply(text);
  if (reply.done === true) return null;
  const handle = handleIn(reply);
  if (handle === undefined) return askForWork(instructions);
  if (reply.reason === 'GRANTED') return workOn(handle, reply, instructions);
  // After a note the model has forgotten the checks. A reply that lists failing checks names them again.
  const evaluators = reply.failing?.map(passedCheck);
  return handle.task_id.includes('#') && evaluators === undefined
    ? askForWork(instructions)
    : submission(handle, instructions, { evaluators });
}

function askForWork({ usesDrafts: _, ...fields }: Instructions): ScriptedCall {
  return { tool: 'next', args: { ...fields, kinds: ['task', 'edge'], wait_seconds: WAIT_SECONDS } };
}

function workOn(handle: Handle, reply: ServerReply, instructions: Instructions): ScriptedCall {
  const { briefing = {}, resumed = false } = reply;
  const isEdge = handle.task_id.includes('#');
  if (!isEdge && !resumed) return { tool: 'note', args: { handle, text: 'Half of it is done.' } };
  const checks = reply.checks ?? briefing.checks ?? [];
  // At first the model reports no checks, so that the refusal names the required ones.
  const omitsChecks = isEdge && !resumed && briefing.failed === undefined;
  const evaluators = omitsChecks ? [] : checks.filter(({ type }) => type !== 'human').map(passedCheck);
  const { draft_folder, review } = briefing;
  return submission(handle, instructions, { evaluators, draft_folder, comment: review?.comment ?? null });
}

const passedCheck = ({ name }: Check) => ({ name, result: 'pass' });

interface FinishedWork {
  readonly evaluators?: readonly object[] | undefined;
  readonly draft_folder?: string | undefined;
  /** The comment of the review that requested changes. */
  readonly comment?: string | null;
}

function submission(
  handle: Handle,
  { usesDrafts }: Instructions,
  { evaluators = [], draft_folder, comment = null }: FinishedWork,
): ScriptedCall {
  const { task_id, generation } = handle;
  const checked = evaluators.length === 0 ? {} : { evaluators };
  if (!usesDrafts || !task_id.includes('#')) {
    const result_data = { task_id, generation, comment };
    return { tool: 'submit', args: { handle, result_data, ...checked } };
  }
  const args = { handle, drafts: true, ...checked };
  if (draft_folder === undefined) return { tool: 'submit', args };
  return { tool: 'submit', args, file: [`${draft_folder}/${fileOf(task_id)}`, textOf(handle, comment)] };
}

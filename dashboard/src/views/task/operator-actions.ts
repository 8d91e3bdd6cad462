import type { Reply } from '../../api/call.js';

type TaskState = Reply<'get_task_state'>;

export type OperatorAction = 'hold' | 'unhold' | 'force_release' | 'reassign' | 'reset';

export const ACTION_NAMES: Readonly<Record<OperatorAction | 'adopt', string>> = {
  hold: 'Hold',
  unhold: 'Unhold',
  force_release: 'Release',
  reassign: 'Reassign',
  reset: 'Reset',
  adopt: 'Adopt',
};

/** What the action does, for the dialog that asks for the reason. */
export const ACTION_EFFECTS: Readonly<Record<OperatorAction | 'adopt', string>> = {
  hold: 'No agent can claim the work until the hold is removed.',
  unhold: 'Agents can claim the work again.',
  force_release: 'The claim ends now. A result that its holder submits later is refused.',
  reassign: 'The claim ends now, and the other agent holds the work in the next generation.',
  reset: 'The completed work is open again, and its result no longer counts.',
  adopt: 'The refused result becomes the accepted result.',
};

/** The actions that make sense in this state. The server decides, by state and by role. */
export function actionsFor({ phase, readiness, claim }: Pick<TaskState, 'phase' | 'readiness' | 'claim'>) {
  if (phase === 'COMPLETED') return ['reset'] satisfies OperatorAction[];
  const isHeld = readiness === 'held';
  const hasHolder = claim?.state === 'ACTIVE' || claim?.state === 'SUSPENDED';
  return [
    isHeld ? 'unhold' : 'hold',
    ...(hasHolder ? (['force_release'] as const) : []),
    'reassign',
  ] satisfies OperatorAction[];
}

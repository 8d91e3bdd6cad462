import type { Reply } from '../../api/call.js';

type TaskState = Reply<'get_task_state'>;

type Adoption = 'adopt' | 'reset_and_adopt';

export type OperatorAction = 'hold' | 'unhold' | 'force_release' | 'reassign' | 'reset';

export const ACTION_NAMES: Readonly<Record<OperatorAction | Adoption, string>> = {
  hold: 'Hold',
  unhold: 'Unhold',
  force_release: 'Release',
  reassign: 'Reassign',
  reset: 'Reset',
  adopt: 'Adopt',
  reset_and_adopt: 'Reset and adopt',
};

/** What the action does, for the dialog that asks for the reason. */
export const ACTION_EFFECTS: Readonly<Record<OperatorAction | Adoption, string>> = {
  hold: 'No agent can claim the work until the hold is removed.',
  unhold: 'Agents can claim the work again.',
  force_release: 'The claim ends now. A result that its holder submits later is refused.',
  reassign: 'The claim ends now, and the other agent holds the work in the next generation.',
  reset: 'The completed work is open again, and its result no longer counts.',
  adopt: 'The refused result becomes the accepted result.',
  reset_and_adopt:
    'The task is completed: it is reset first, and its result no longer counts. Then the refused result becomes the accepted result. Completed tasks that depend on it stay completed.',
};

/** The actions that make sense in this state. The server decides, by state and by role. */
export function actionsFor({ phase, readiness, claim }: Pick<TaskState, 'phase' | 'readiness' | 'claim'>) {
  if (phase === 'COMPLETED') return ['reset'] satisfies OperatorAction[];
  const isOnHold = readiness === 'held';
  const hasHolder = claim?.state === 'ACTIVE' || claim?.state === 'SUSPENDED';
  return [
    isOnHold ? 'unhold' : 'hold',
    ...(hasHolder ? (['force_release'] as const) : []),
    'reassign',
  ] satisfies OperatorAction[];
}

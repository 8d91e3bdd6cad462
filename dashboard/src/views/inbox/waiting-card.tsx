import { useReply } from '../../api/use-reply.js';
import { QueryResult } from '../../components/states.js';
import { UntrustedText } from '../../components/untrusted-text.js';
import { OperatorButtons } from '../task/operator-buttons.js';
import type { ItemOf } from './inbox-items.js';
import { ItemFrame } from './item-frame.js';

const ACTIONS = { stale: ['force_release', 'reassign'], held: ['unhold'] } as const;
const NAMES = { stale: 'Stale claim', held: 'On hold' } as const;

/** A stale claim, which a person can release or reassign, or work on hold. */
export function WaitingCard({ item }: { item: ItemOf<'stale' | 'held'> }) {
  const { task_id, reason, waits_for } = item.waiting;
  const state = useReply('get_task_state', { params: { subject: task_id } });
  return (
    <ItemFrame item={item} name={NAMES[item.kind]} taskId={task_id}>
      <p>
        <UntrustedText text={reason} />
      </p>
      <p className="quiet">
        Waits for <UntrustedText text={waits_for} />
      </p>
      <QueryResult query={state}>
        {({ generation }) => (
          <OperatorButtons subject={task_id} generation={generation} actions={ACTIONS[item.kind]} />
        )}
      </QueryResult>
    </ItemFrame>
  );
}

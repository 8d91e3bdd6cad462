import { UntrustedText } from '../../components/untrusted-text.js';
import type { ItemOf } from './inbox-items.js';
import { ItemFrame } from './item-frame.js';

/** A limit that stops agents. */
export function LimitCard({ item }: { item: ItemOf<'limit'> }) {
  const { name, refusedCount, agents, task_id, message } = item.limit;
  return (
    <ItemFrame item={item} name={`Limit reached: ${name}`} taskId={task_id}>
      <p>
        <UntrustedText text={message} />
      </p>
      {refusedCount === 0 ? null : (
        <p className="quiet">
          {refusedCount} {refusedCount === 1 ? 'claim' : 'claims'} of{' '}
          <UntrustedText text={agents.join(', ')} />
        </p>
      )}
    </ItemFrame>
  );
}

import { UntrustedText } from '../../components/untrusted-text.js';
import type { ItemOf } from './inbox-items.js';
import { ItemFrame } from './item-frame.js';

/** Something that the methodology hands to a person, with the command that resolves it. */
export function EscalationCard({ item }: { item: ItemOf<'escalation'> }) {
  const { kind, feature_id, edge, says, next } = item.escalation;
  const taskId = feature_id === null || edge === null ? null : `${feature_id}#${edge}`;
  return (
    <ItemFrame item={item} name={`Escalation: ${kind}`} taskId={taskId}>
      {feature_id !== null && edge === null ? <p className="mono">{feature_id}</p> : null}
      <p>
        <UntrustedText text={says} />
      </p>
      <p>
        Resolve it with{' '}
        <code>
          <UntrustedText text={next} />
        </code>
      </p>
    </ItemFrame>
  );
}

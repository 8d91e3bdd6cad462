import { useState } from 'react';
import { Link } from 'wouter';
import { Empty, Failure, Loading } from '../../components/states.js';
import type { AnswerListener } from './answer-form.js';
import { EscalationCard } from './escalation-card.js';
import { INBOX_KINDS, type InboxItem, type InboxKind } from './inbox-items.js';
import { LimitCard } from './limit-card.js';
import { ParkedCard } from './parked-card.js';
import { ProposalCard } from './proposal-card.js';
import { ReviewCard } from './review-card.js';
import { useInbox } from './use-inbox.js';
import { useShownItems } from './use-shown-items.js';
import { WaitingCard } from './waiting-card.js';
import '../task/task.css';
import './inbox.css';

const CARDS_SHOWN_MAX = 100;

const KIND_NAMES: Readonly<Record<InboxKind, string>> = {
  review: 'Reviews',
  proposal: 'Proposed tasks',
  stale: 'Stale claims',
  escalation: 'Escalations',
  parked: 'Parked results',
  held: 'Work on hold',
  limit: 'Limits reached',
};

/** What needs a person. `kind` comes from the address and shows only that kind. */
export default function InboxView({ kind }: { kind?: string }) {
  const { items, error, isLoaded } = useInbox();
  const [answered, setAnswered] = useState('');
  const { shown: allItems, keep, remove } = useShownItems(items);
  const waiting = new Set(items.map(({ key }) => key));
  const shown = allItems.filter((item) => kind === undefined || item.kind === kind);
  return (
    <div className="inbox">
      <h1>Inbox</h1>
      <KindLinks items={allItems} selected={kind} />
      <p role="status" aria-label="Last answer" className="answered">
        {answered}
      </p>
      {error ? <Failure error={error} /> : null}
      {isLoaded || error ? null : <Loading />}
      {isLoaded && shown.length === 0 ? (
        <Empty title="Nothing waits for you">
          <p>
            Reviews, proposed tasks, stale claims, escalations, parked results, work on hold and limits appear
            here. In the terminal, reviews and proposed tasks: <code>gen review</code>
          </p>
        </Empty>
      ) : null}
      <ul className="inbox-items">
        {shown.slice(0, CARDS_SHOWN_MAX).map((item) => (
          <li key={item.key}>
            {waiting.has(item.key) ? null : (
              <p className="row quiet">
                This item no longer waits. What you have written is kept until you remove it.
                <button type="button" onClick={() => remove(item)}>
                  Remove
                </button>
              </p>
            )}
            <ItemCard item={item} onAnswered={setAnswered} onRefused={() => keep(item)} />
          </li>
        ))}
      </ul>
      {shown.length > CARDS_SHOWN_MAX ? <p>{shown.length - CARDS_SHOWN_MAX} more after these.</p> : null}
    </div>
  );
}

function KindLinks({ items, selected }: { items: readonly InboxItem[]; selected: string | undefined }) {
  const counted = INBOX_KINDS.map((kind) => ({
    kind,
    count: items.filter((item) => item.kind === kind).length,
  })).filter(({ kind, count }) => count > 0 || kind === selected);
  if (counted.length < 2 && selected === undefined) return null;
  return (
    <nav className="row inbox-kinds" aria-label="Kinds">
      <Link href="/inbox" aria-current={selected === undefined ? 'page' : undefined}>
        All {items.length}
      </Link>
      {counted.map(({ kind, count }) => (
        <Link key={kind} href={`/inbox/${kind}`} aria-current={selected === kind ? 'page' : undefined}>
          {KIND_NAMES[kind]} {count}
        </Link>
      ))}
    </nav>
  );
}

function ItemCard({ item, ...answering }: { item: InboxItem } & AnswerListener) {
  switch (item.kind) {
    case 'review':
      return <ReviewCard item={item} {...answering} />;
    case 'proposal':
      return <ProposalCard item={item} {...answering} />;
    case 'stale':
    case 'held':
      return <WaitingCard item={item} />;
    case 'parked':
      return <ParkedCard item={item} />;
    case 'escalation':
      return <EscalationCard item={item} />;
    case 'limit':
      return <LimitCard item={item} />;
  }
}

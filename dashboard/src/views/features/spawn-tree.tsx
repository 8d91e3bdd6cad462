import type { FeatureView } from '../../../../src/core/contract/methodology-views.js';
import { visibleText } from '../../components/foreign-text.js';
import { useFeature } from './use-features.js';

/** A child is read only where it is shown, and no deeper than this. */
const DEPTH_MAX = 5;

interface Props {
  readonly feature: FeatureView;
  readonly onChoose: (feature: string) => void;
}

/** What the feature was spawned by, and what was spawned from it. */
export function SpawnTree({ feature, onChoose }: Props) {
  const { parent, children } = feature;
  if (parent === null && children.length === 0)
    return (
      <p className="quiet">
        No work was spawned here. Spawn some:{' '}
        <code>gen spawn --parent {visibleText(feature.feature_id)}</code>
      </p>
    );
  return (
    <>
      {parent === null ? null : (
        <p>
          Spawned by <FeatureButton id={parent.feature} onChoose={onChoose} />
          {parent.edge === null ? '' : ` on ${visibleText(parent.edge)}`}: {visibleText(parent.reason)}
        </p>
      )}
      <Children feature={feature} depth={0} onChoose={onChoose} />
    </>
  );
}

function Children({ feature, depth, onChoose }: Props & { depth: number }) {
  return (
    <ul className="features-tree">
      {feature.children.map((child) => (
        <li key={child.feature}>
          <FeatureButton id={child.feature} onChoose={onChoose} />{' '}
          <span className="quiet">
            {visibleText(child.vector_type)}
            {child.edge === null ? '' : ` on ${visibleText(child.edge)}`}
            {child.folded_back === null
              ? ', not folded back'
              : `, folded back: ${child.folded_back.replaceAll('_', ' ')}`}
          </span>
          {depth < DEPTH_MAX ? (
            <Grandchildren id={child.feature} depth={depth + 1} onChoose={onChoose} />
          ) : null}
        </li>
      ))}
    </ul>
  );
}

function Grandchildren({ id, depth, onChoose }: { id: string; depth: number; onChoose: Props['onChoose'] }) {
  const { data } = useFeature(id);
  if (data === undefined || data.children.length === 0) return null;
  return <Children feature={data} depth={depth} onChoose={onChoose} />;
}

const FeatureButton = ({ id, onChoose }: { id: string; onChoose: Props['onChoose'] }) => (
  <button type="button" className="features-name" onClick={() => onChoose(id)}>
    {visibleText(id)}
  </button>
);

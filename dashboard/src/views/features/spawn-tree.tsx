import type { FeatureView } from '../../../../src/core/contract/methodology-views.js';
import { visibleText } from '../../components/untrusted-text.js';

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
      <ul className="features-tree">
        {children.map((child) => (
          <li key={child.feature}>
            <FeatureButton id={child.feature} onChoose={onChoose} />{' '}
            <span className="quiet">
              {visibleText(child.vector_type)}
              {child.edge === null ? '' : ` on ${visibleText(child.edge)}`}
              {child.folded_back === null
                ? ', not folded back'
                : `, folded back: ${child.folded_back.replaceAll('_', ' ')}`}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

export const FeatureButton = ({ id, onChoose }: { id: string; onChoose: Props['onChoose'] }) => (
  <button type="button" className="features-name" onClick={() => onChoose(id)}>
    {visibleText(id)}
  </button>
);

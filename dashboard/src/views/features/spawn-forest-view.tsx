import type { MethodologyStatus } from '../../../../src/core/contract/methodology-views.js';
import { visibleText } from '../../components/untrusted-text.js';
import { type SpawnNode, spawnForest } from './spawn-forest.js';
import { FeatureButton } from './spawn-tree.js';

interface Props {
  readonly status: MethodologyStatus;
  readonly onChoose: (feature: string) => void;
}

/** The features of the project that spawned others, with the features spawned from them. */
export function SpawnForestView({ status, onChoose }: Props) {
  const forest = spawnForest(status.features);
  if (forest.length === 0) return null;
  return (
    <section className="card" aria-label="Spawned work">
      <h2>Spawned work</h2>
      <Nodes nodes={forest} isRoot onChoose={onChoose} />
    </section>
  );
}

const Nodes = ({
  nodes,
  isRoot = false,
  onChoose,
}: {
  nodes: readonly SpawnNode[];
  isRoot?: boolean;
  onChoose: Props['onChoose'];
}) => (
  <ul className="features-tree">
    {nodes.map(({ feature, foldedBack, children }) => (
      <li key={feature.feature_id}>
        <FeatureButton id={feature.feature_id} onChoose={onChoose} />{' '}
        <span className="quiet">
          {visibleText(feature.vector_type)}, {feature.status.replaceAll('_', ' ')}
          {isRoot
            ? ''
            : foldedBack === null
              ? ', not folded back'
              : `, folded back: ${foldedBack.replaceAll('_', ' ')}`}
        </span>
        {children.length === 0 ? null : <Nodes nodes={children} onChoose={onChoose} />}
      </li>
    ))}
  </ul>
);

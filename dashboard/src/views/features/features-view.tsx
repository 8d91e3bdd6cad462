export default function FeaturesView() {
  return <h1>Features</h1>;
}

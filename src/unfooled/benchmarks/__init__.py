"""Plans of trainings, attacks and certificates: benchmarks, sweeps, the demo."""

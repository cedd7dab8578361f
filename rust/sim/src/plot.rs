//! Draws lines and points as an SVG file. Computes nothing beyond the span of the axes.

use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use std::path::Path;

/// A line, or points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// The points, in the units of the axes.
    pub points: Vec<(f64, f64)>,
    /// Whether it is quoted, from a paper for instance: drawn as grey points.
    pub quoted: bool,
}

/// The colour of a plot's line, by its place in `lines`, as in CSS.
pub fn colour(line: usize) -> String {
    let (red, green, blue) = Palette99::pick(line).rgb();
    format!("#{red:02x}{green:02x}{blue:02x}")
}

impl Line {
    /// A line of our own.
    pub fn new(name: &str, points: Vec<(f64, f64)>) -> Line {
        Line {
            name: name.to_string(),
            points,
            quoted: false,
        }
    }

    /// A paper's points.
    pub fn quoted(name: &str, points: Vec<(f64, f64)>) -> Line {
        Line {
            quoted: true,
            ..Line::new(name, points)
        }
    }
}

/// A picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// Its title.
    pub title: String,
    /// The names of the axes, with units.
    pub axes: [String; 2],
    /// Its lines.
    pub lines: Vec<Line>,
    /// Whether both axes are logarithmic. Points must then be above 0.
    pub logarithmic: bool,
}

impl Plot {
    /// A picture without lines.
    pub fn new(title: &str, x: &str, y: &str) -> Plot {
        Plot {
            title: title.to_string(),
            axes: [x.to_string(), y.to_string()],
            ..Plot::default()
        }
    }

    /// The same with logarithmic axes.
    pub fn logarithmic(self) -> Plot {
        Plot {
            logarithmic: true,
            ..self
        }
    }

    /// The same with one more line.
    pub fn with(mut self, line: Line) -> Plot {
        self.lines.push(line);
        self
    }

    fn span(&self, part: fn(&(f64, f64)) -> f64) -> std::ops::Range<f64> {
        let values = || self.lines.iter().flat_map(|line| &line.points).map(part);
        let least = values().fold(f64::INFINITY, f64::min);
        let most = values().fold(f64::NEG_INFINITY, f64::max);
        match least.is_finite() {
            true if most > least => least..most,
            true => least..least + 1.0,
            false => 0.0..1.0,
        }
    }

    /// Writes it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let area = SVGBackend::new(path, (900, 500)).into_drawing_area();
        let drawn = self.draw(&area).and_then(|()| Ok(area.present()?));
        drawn.map_err(|error| format!("{}: {error}", path.display()))
    }

    fn draw(
        &self,
        area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let (x, y) = (self.span(|point| point.0), self.span(|point| point.1));
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(area);
        chart
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(70);
        if self.logarithmic {
            self.draw_lines(chart.build_cartesian_2d(x.log_scale(), y.log_scale())?)
        } else {
            self.draw_lines(chart.build_cartesian_2d(x, y.start.min(0.0)..y.end)?)
        }
    }

    fn draw_lines<'a, X, Y>(
        &self,
        mut chart: ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>,
    ) -> Result<(), Box<dyn std::error::Error>>
    where
        X: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        chart
            .configure_mesh()
            .x_desc(&self.axes[0])
            .y_desc(&self.axes[1])
            .draw()?;
        let grey = RGBColor(140, 140, 140);
        for (i, line) in self.lines.iter().enumerate() {
            let colour = match line.quoted {
                true => grey.to_rgba(),
                false => Palette99::pick(i).to_rgba(),
            };
            let points = line.points.iter().copied();
            let drawn = match line.quoted {
                true => chart.draw_series(points.map(|at| Circle::new(at, 4, colour.filled())))?,
                false => chart.draw_series(LineSeries::new(points, colour))?,
            };
            drawn
                .label(&line.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour));
        }
        // Rising lines leave room there.
        let corner = match self.logarithmic {
            true => SeriesLabelPosition::UpperLeft,
            false => SeriesLabelPosition::MiddleRight,
        };
        chart
            .configure_series_labels()
            .position(corner)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK)
            .draw()?;
        Ok(())
    }
}
